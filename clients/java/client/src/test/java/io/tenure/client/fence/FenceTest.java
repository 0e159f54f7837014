package io.tenure.client.fence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.tenure.client.TenureException;
import java.net.URI;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The fence, in real databases, by way of their usual drivers. */
class FenceTest {
    /** Used by no other test. */
    private final String name = "job-" + UUID.randomUUID();

    @TempDir
    private Path folder;

    /** A connection to a database with the fence. */
    private Connection open(Fence fence) throws SQLException {
        Connection connection = DriverManager.getConnection(
                switch (fence) {
                    case POSTGRES -> jdbc("TEST_POSTGRES_URL", "postgresql", "");
                    case MYSQL -> jdbc("TEST_MYSQL_URL", "mariadb", "&allowMultiQueries=true");
                    case SQLITE -> "jdbc:sqlite:" + folder.resolve("work.db");
                });
        fence.install(connection);
        connection.setAutoCommit(false);
        return connection;
    }

    private static String jdbc(String variable, String kind, String options) {
        URI at = URI.create(Objects.requireNonNull(System.getenv(variable), variable));
        return "jdbc:%s://%s:%d%s?user=%s%s"
                .formatted(kind, at.getHost(), at.getPort(), at.getPath(), at.getUserInfo(), options);
    }

    /** Runs a transaction with a token. */
    private static void letIn(Fence fence, Connection connection, String name, long token) throws SQLException {
        try {
            fence.check(connection, name, token);
        } catch (SQLException | RuntimeException error) {
            connection.rollback();
            throw error;
        }
        connection.commit();
    }

    @ParameterizedTest
    @EnumSource
    void whatIsLowerThanTheHighestTokenSeenIsRefused(Fence fence) throws SQLException {
        try (Connection connection = open(fence)) {
            for (long token : new long[] {5, 5, 7}) {
                letIn(fence, connection, name, token);
            }
            TenureException.StaleToken refused =
                    catchThrowableOfType(TenureException.StaleToken.class, () -> letIn(fence, connection, name, 6));
            assertThat(refused.name()).isEqualTo(name);
            assertThat(refused.token()).isEqualTo(6);
            assertThat(refused.highest()).isEqualTo(7);
            assertThat(refused.isTransient()).isFalse();
            letIn(fence, connection, name + "-2", 6);
        }
    }

    @ParameterizedTest
    @EnumSource
    void itIsInstalledAgainAndKeepsItsTokens(Fence fence) throws SQLException {
        try (Connection connection = open(fence)) {
            letIn(fence, connection, name, 7);
        }
        try (Connection connection = open(fence)) {
            assertThatThrownBy(() -> letIn(fence, connection, name, 6)).isInstanceOf(TenureException.StaleToken.class);
        }
    }

    @ParameterizedTest
    @EnumSource
    void otherRefusalsAreTheDriversErrors(Fence fence) throws SQLException {
        try (Connection connection = open(fence)) {
            assertThatThrownBy(() -> letIn(fence, connection, "", 5)).isInstanceOf(SQLException.class);
            assertThatThrownBy(() -> letIn(fence, connection, "x".repeat(256), 5))
                    .isInstanceOf(SQLException.class);
            assertThatThrownBy(() -> letIn(fence, connection, name, 0)).isInstanceOf(SQLException.class);
            assertThatThrownBy(() -> letIn(fence, connection, name, -5)).isInstanceOf(SQLException.class);
        }
    }
}
