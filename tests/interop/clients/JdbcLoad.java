// Puts the load of the interop tests on a server by PostgreSQL's JDBC driver: PORT USER LOOPS.

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;

public class JdbcLoad {
  static void read(PreparedStatement statement) throws SQLException {
    try (ResultSet rows = statement.executeQuery()) {
      while (rows.next()) {}
    }
  }

  public static void main(String[] words) throws SQLException {
    String url = "jdbc:postgresql://127.0.0.1:" + words[0] + "/postgres?user=" + words[1];
    int loops = Integer.parseInt(words[2]);
    try (Connection session = DriverManager.getConnection(url);
        PreparedStatement point = session.prepareStatement("SELECT name FROM items WHERE id = ?");
        PreparedStatement filter =
            session.prepareStatement(
                "SELECT count(*) FROM items WHERE name LIKE ? AND (?::int IS NULL OR id > ?)");
        PreparedStatement price = session.prepareStatement("SELECT price FROM items WHERE id = ?");
        PreparedStatement raise =
            session.prepareStatement("UPDATE items SET price = price + ? WHERE id = ?");
        PreparedStatement note =
            session.prepareStatement("INSERT INTO notes (item, body) VALUES (?, ?) RETURNING id");
        PreparedStatement any = session.prepareStatement("SELECT id FROM items WHERE id = ANY(?)");
        PreparedStatement made =
            session.prepareStatement("SELECT count(*) FROM items WHERE made < ?");
        PreparedStatement pages = session.prepareStatement("SELECT id FROM items WHERE id <= ?");
        PreparedStatement wrong = session.prepareStatement("SELECT 1 / ?")) {
      pages.setFetchSize(10);
      for (int i = 0; i < loops; i++) {
        int key = i % 1000 + 1;
        point.setInt(1, key);
        read(point);
        filter.setString(1, "it%");
        for (int place = 2; place <= 3; place++) {
          if (i % 2 == 1) filter.setNull(place, Types.INTEGER);
          else filter.setInt(place, key);
        }
        read(filter);
        note.setInt(1, key);
        note.setString(2, "it's :p1 \\ ü " + i);
        read(note);
        any.setArray(1, session.createArrayOf("int4", new Integer[] {key, 2, 3}));
        read(any);
        made.setTimestamp(1, new Timestamp(System.currentTimeMillis()));
        read(made);
        session.setAutoCommit(false);
        price.setInt(1, key);
        read(price);
        raise.setBigDecimal(1, new BigDecimal("1.5"));
        raise.setInt(2, key);
        raise.executeUpdate();
        session.commit();
        pages.setInt(1, 25); // fetched by 10 within a transaction
        read(pages);
        session.commit();
        session.setAutoCommit(true);
        if (i % 20 == 0) {
          wrong.setInt(1, 0);
          try {
            read(wrong);
          } catch (SQLException expected) {
            continue;
          }
        }
      }
    }
  }
}
