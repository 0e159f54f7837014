package io.tenure.examples;

import io.tenure.client.Guard;
import io.tenure.client.TenureClient;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Writes under a lock to a database that turns away whoever has lost the lock, be he paused in the middle of it. Takes the database's
 * file.
 */
public final class FencedWrite {
    private static final String LOCK = "nightly-report";

    private FencedWrite() {}

    public static void main(String[] arguments) throws Exception {
        String file = arguments.length > 0 ? arguments[0] : "work.db";
        try (Connection database = DriverManager.getConnection("jdbc:sqlite:" + file);
                TenureClient client = TenureClient.fromEnvironment()) {
            install(database);
            Guard first = client.lock(LOCK).owner("fenced_write").acquire();
            long oldToken = first.token();
            System.out.println("acquired token=" + oldToken);
            write(database, oldToken);
            System.out.println("wrote");
            first.release();

            // Had the first holder been paused instead, the next one would have got the lock after the TTL, and gone on
            // like this.
            Guard next = client.lock(LOCK).owner("fenced_write").acquire();
            System.out.println("acquired token=" + next.token());
            write(database, next.token());
            System.out.println("wrote");

            // The first one wakes up, and does not know yet.
            try {
                write(database, oldToken);
                throw new IllegalStateException("not refused");
            } catch (SQLException stale) {
                if (!stale.getMessage().contains("stale fencing token")) {
                    throw stale;
                }
                System.out.println("refused token=" + oldToken + " highest=" + highest(database));
            }
            next.release();
        }
    }

    /** Installs the fence, or does it again, which keeps the tokens. The script takes the view away for a moment: nobody is to see. */
    private static void install(Connection database) throws SQLException, IOException {
        try (InputStream script = FencedWrite.class.getResourceAsStream("/fence/sqlite.sql");
                Statement statement = database.createStatement()) {
            if (script == null) {
                throw new IOException("the script of the fence is not in this jar");
            }
            statement.executeUpdate("BEGIN IMMEDIATE; " + new String(script.readAllBytes(), StandardCharsets.UTF_8)
                    + "; CREATE TABLE IF NOT EXISTS reports (pages INTEGER NOT NULL); COMMIT");
        }
    }

    /** One write: all that belongs to it in one transaction, and the check first. */
    private static void write(Connection database, long token) throws SQLException {
        try (Statement statement = database.createStatement()) {
            statement.executeUpdate("BEGIN IMMEDIATE");
            try (PreparedStatement check =
                    database.prepareStatement("INSERT INTO tenure_fence (name, token) VALUES (?, ?)")) {
                check.setString(1, LOCK);
                check.setLong(2, token);
                check.executeUpdate();
                statement.executeUpdate("INSERT INTO reports (pages) VALUES (1)");
                statement.executeUpdate("COMMIT");
            } catch (SQLException error) {
                statement.executeUpdate("ROLLBACK");
                throw error;
            }
        }
    }

    private static long highest(Connection database) throws SQLException {
        try (PreparedStatement query = database.prepareStatement("SELECT token FROM tenure_fences WHERE name = ?")) {
            query.setString(1, LOCK);
            try (ResultSet found = query.executeQuery()) {
                return found.getLong(1);
            }
        }
    }
}
