package io.tenure.examples.kotlin

import io.tenure.client.LostReason
import io.tenure.client.TenureClient
import io.tenure.client.TenureException
import io.tenure.client.testing.Eventually
import io.tenure.client.testing.TestServer
import io.tenure.client.v1.EvictRequest
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.supervisorScope
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

@Timeout(120)
class WithLockTest {
    private lateinit var server: TestServer
    private lateinit var client: TenureClient

    @BeforeEach
    fun start() {
        server = TestServer.start()
        client = TenureClient.connect(server.url())
    }

    @AfterEach
    fun stop() {
        client.close()
        server.close()
    }

    @Test
    fun `the lock is held while the body runs, and free afterwards`() =
        runBlocking<Unit> {
            val token =
                client.lock("report").withLock { hold ->
                    assertThat(client.getLock("report").holdersList.map { it.token }).containsExactly(hold.token())
                    hold.token()
                }
            assertThat(client.getLock("report").holdersList).isEmpty()
            assertThat(client.lock("report").withLock { it.token() }).isGreaterThan(token)
        }

    @Test
    fun `cancelled wait leaves nothing behind`() =
        runBlocking<Unit> {
            client.lock("report").acquire().use {
                val waiting = launch(Dispatchers.Default) { client.lock("report").withLock { error("it is held") } }
                Eventually.holds("it waits") { client.getLock("report").waitersCount == 1 }
                waiting.cancelAndJoin()
                Eventually.holds("there is no waiter") { client.getLock("report").waitersList.isEmpty() }
            }
        }

    @Test
    fun `cancelled body releases the lock`() =
        runBlocking<Unit> {
            val begun = CompletableDeferred<Unit>()
            val working =
                launch(Dispatchers.Default) {
                    client.lock("report").withLock {
                        begun.complete(Unit)
                        awaitCancellation()
                    }
                }
            begun.await()
            working.cancelAndJoin()
            assertThat(client.getLock("report").holdersList).isEmpty()
        }

    @Test
    fun `loss cancels the body and is the result`() =
        runBlocking<Unit> {
            supervisorScope {
                val begun = CompletableDeferred<Unit>()
                val working =
                    async(Dispatchers.Default) {
                        client.lock("report").withLock {
                            begun.complete(Unit)
                            awaitCancellation()
                        }
                    }
                begun.await()
                client.evict(EvictRequest.newBuilder().setName("report").setOperator("carol").build())
                val error = runCatching { working.await() }.exceptionOrNull()
                assertThat(error).isInstanceOf(TenureException.Lost::class.java)
                assertThat((error as TenureException.Lost).reason().kind()).isEqualTo(LostReason.Kind.ENDED)
            }
        }

    @Test
    fun `the example is a program`() {
        val program =
            ProcessBuilder(
                "${System.getProperty("java.home")}/bin/java",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                "io.tenure.examples.kotlin.WithLockKt",
            )
        program.environment()["TENURE_ENDPOINTS"] = server.url()
        val running = program.redirectError(ProcessBuilder.Redirect.INHERIT).start()
        val said = running.inputReader().readLines()
        assertThat(running.waitFor()).isZero()
        assertThat(said).hasSize(2)
        assertThat(said[0]).startsWith("acquired token=")
        assertThat(said[1]).isEqualTo("released")
    }
}
