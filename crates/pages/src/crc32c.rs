//! CRC-32C (Castagnoli), as PostgreSQL's port/pg_crc32c: initial value and final XOR all ones.

const POLYNOMIAL_REFLECTED: u32 = 0x82F6_3B78;

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0u32; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ POLYNOMIAL_REFLECTED
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// The CRC-32C of `bytes`. A table by bytes is enough for a control file of 300 bytes.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let fold = |crc: u32, byte: &u8| (crc >> 8) ^ TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize];
    !bytes.iter().fold(u32::MAX, fold)
}
