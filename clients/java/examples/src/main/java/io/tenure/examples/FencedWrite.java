package io.tenure.examples;

import io.tenure.client.Guard;
import io.tenure.client.TenureClient;
import io.tenure.client.TenureException;
import io.tenure.client.fence.Fence;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Writes under a lock to a database that rejects writes of a former holder, even of one that was paused in the middle of them. The
 * argument is the database's file.
 */
public final class FencedWrite {
    private static final String LOCK = "nightly-report";

    private FencedWrite() {}

    public static void main(String[] arguments) throws Exception {
        String file = arguments.length > 0 ? arguments[0] : "work.db";
        try (Connection database = DriverManager.getConnection("jdbc:sqlite:" + file);
                TenureClient client = TenureClient.fromEnvironment()) {
            Fence.SQLITE.install(database);
            try (Statement statement = database.createStatement()) {
                statement.executeUpdate("CREATE TABLE IF NOT EXISTS reports (pages INTEGER NOT NULL)");
            }
            database.setAutoCommit(false);
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
            } catch (TenureException.StaleToken stale) {
                System.out.println("refused token=" + stale.token() + " highest=" + stale.highest());
            }
            next.release();
        }
    }

    // snippet: write
    /** One write: all that belongs to it in one transaction, and the check first. */
    private static void write(Connection database, long token) throws SQLException {
        try (Statement statement = database.createStatement()) {
            Fence.SQLITE.check(database, LOCK, token);
            statement.executeUpdate("INSERT INTO reports (pages) VALUES (1)");
            database.commit();
        } catch (SQLException | TenureException error) {
            database.rollback();
            throw error;
        }
    }
    // snippet end
}
