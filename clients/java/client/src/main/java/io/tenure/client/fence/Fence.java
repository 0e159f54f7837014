package io.tenure.client.fence;

import io.tenure.client.TenureException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A kind of database with a fence, by JDBC. A process that was paused may write after it has lost its lock. So for each name the
 * database keeps the highest token that it has seen, and a transaction begins with a check of its token:
 *
 * <pre>{@code
 * connection.setAutoCommit(false);
 * Fence.POSTGRES.check(connection, "nightly-report", guard.token());
 * ... // all that the lock protects
 * connection.commit();
 * }</pre>
 *
 * <p>The fence is installed once, like a migration: by {@link #install}, or with {@code tenure fence-sql}. It works in any database,
 * not only in Tenure's own, and needs no server of Tenure. The objects for people, and the settings that end a wait for a transaction
 * of a paused process, are described at the top of each {@link #script}.
 */
public enum Fence {
    /** PostgreSQL, 13 or newer. */
    POSTGRES("postgres.sql", "SELECT tenure_fence(?, ?)"),
    /** MySQL, 8.0 or newer, or MariaDB, 10.6 or newer. */
    MYSQL("mysql.sql", "CALL tenure_fence(?, ?)"),
    /** SQLite, 3.24 or newer. */
    SQLITE("sqlite.sql", "INSERT INTO tenure_fence (name, token) VALUES (?, ?)") {
        @Override
        String installation() {
            // The script drops the view for a moment, which no reader is to see.
            return "BEGIN IMMEDIATE; " + script() + " COMMIT;";
        }
    };

    /** The fence's message. Each driver adds a text of its own, before or after. That of SQLite has no numbers. */
    private static final Pattern REFUSAL =
            Pattern.compile("\\bstale fencing token\\b(?: \\d+: (\\d+) is the highest seen for )?");

    private final String file;
    private final String call;

    Fence(String file, String call) {
        this.file = file;
        this.call = call;
    }

    /** The script that installs the fence, as {@code tenure fence-sql} prints it. */
    public String script() {
        try (InputStream script = Fence.class.getResourceAsStream(file)) {
            if (script == null) {
                throw new IllegalStateException(file + " is not in this jar");
            }
            return new String(script.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    String installation() {
        return script();
    }

    /**
     * Installs the fence, outside of any transaction; or again, which keeps the tokens. A migration of the database, not a step for each
     * start of a program. A connection to MySQL must accept several statements at once: {@code allowMultiQueries=true} in its URL.
     *
     * @throws SQLException what the driver reports
     */
    public void install(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            // SQLite's driver accepts several statements in this call only.
            statement.executeUpdate(installation());
        }
    }

    /**
     * Fails the transaction of the connection if the database has seen a higher token for the name. To be called first in the
     * transaction, and not in a savepoint that may be rolled back. After any exception the transaction is to be rolled back.
     *
     * <p>It may wait for transactions of other tokens (in SQLite: for every other writer), for as long as the settings of the database
     * allow.
     *
     * @param connection not in auto-commit mode: a token protects what is done in the transaction that is checked
     * @param name that of the lock, or another one for what is protected: 1 to 255 bytes, compared byte by byte. All tokens for a name
     *     must be from one namespace of one Tenure
     * @throws TenureException.StaleToken if the token is lower than the highest one seen
     * @throws SQLException anything else, as the driver reports it: after a serialization failure, a deadlock or a wait that took too
     *     long the transaction is to be run again
     */
    public void check(Connection connection, String name, long token) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(call)) {
            statement.setString(1, name);
            statement.setLong(2, token);
            statement.execute();
        } catch (SQLException error) {
            Matcher refusal = REFUSAL.matcher(String.valueOf(error.getMessage()));
            if (!refusal.find()) {
                throw error;
            }
            String reported = refusal.group(1);
            long highest = reported != null ? Long.parseLong(reported) : highest(connection, name);
            TenureException.StaleToken stale = new TenureException.StaleToken(name, token, highest);
            stale.initCause(error);
            throw stale;
        }
    }

    /** The highest token seen, if the message does not have it: the transaction continues in such a database. */
    private static long highest(Connection connection, String name) throws SQLException {
        try (PreparedStatement query = connection.prepareStatement("SELECT token FROM tenure_fences WHERE name = ?")) {
            query.setString(1, name);
            try (ResultSet found = query.executeQuery()) {
                found.next();
                return found.getLong(1);
            }
        }
    }
}
