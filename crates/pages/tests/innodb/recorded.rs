//! Pages that MySQL 5.7.29 and MariaDB 10.11.19 wrote, named `algorithm-type-tablespace-number`.

use std::fs;
use std::path::Path;

use steelyard_pages::innodb::{Carried, Layout, Place};

/// A recorded page and everything its name says.
pub struct Recorded {
    pub name: String,
    pub page: Vec<u8>,
    pub layout: Layout,
    pub place: Place,
    pub carried: Carried,
}

/// All recorded pages, by name.
pub fn recorded() -> Vec<Recorded> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/innodb/recorded");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| {
            let name = entry.expect("it can be listed").file_name();
            name.into_string().expect("names are ASCII")
        })
        .collect();
    names.sort();
    assert_eq!(names.len(), 13);
    names
        .into_iter()
        .map(|name| of_file(&folder, name))
        .collect()
}

fn of_file(folder: &Path, name: String) -> Recorded {
    let page = fs::read(folder.join(&name)).expect("it can be read");
    let words: Vec<&str> = name.rsplitn(4, '-').collect();
    let (number, space, algorithm) = (words[0], words[1], words[3]);
    let zip = algorithm.starts_with("zip-");
    let layout = Layout {
        logical_bytes: if zip { 16384 } else { page.len() },
        zip,
        full_crc32: algorithm == "full_crc32",
        ..Layout::plain(page.len())
    };
    let carried = Carried::ALL
        .into_iter()
        .find(|carried| carried.name() == algorithm.trim_start_matches("zip-"))
        .expect("an algorithm");
    let place = Place {
        number: number.parse().expect("a page's number"),
        space: Some(space.parse().expect("a tablespace's number")),
    };
    Recorded {
        name,
        page,
        layout,
        place,
        carried,
    }
}
