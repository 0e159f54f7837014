package io.tenure.examples.kotlin

import io.tenure.client.Guard
import io.tenure.client.Hold
import io.tenure.client.LockRequest
import io.tenure.client.TenureClient
import io.tenure.client.TenureException
import kotlin.coroutines.resumeWithException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.future.await
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.coroutines.withContext

/**
 * Waits for the locks without keeping a thread, runs [body] while they are held, and releases them. A body whose hold
 * is lost is cancelled before the server could grant the locks to others, and then this throws [TenureException.Lost].
 */
suspend fun <T> LockRequest.withLock(body: suspend CoroutineScope.(Hold) -> T): T {
    val guard = acquired()
    try {
        return coroutineScope {
            // A child that fails cancels its siblings, and is what the scope fails with.
            val loss = launch { throw TenureException.Lost(guard.lost().await()) }
            val value = body(guard)
            loss.cancel()
            guard.lostReason()?.let { throw TenureException.Lost(it) }
            value
        }
    } finally {
        // What cannot be released ends by the TTL of its session.
        withContext(NonCancellable) { guard.releaseAsync().exceptionally { null }.await() }
    }
}

/** Waits for the locks. Cancelled, it withdraws the request, and releases what is granted too late for that. */
private suspend fun LockRequest.acquired(): Guard = suspendCancellableCoroutine { waiting ->
    val asked = acquireAsync()
    waiting.invokeOnCancellation { asked.cancel(false) }
    asked.whenComplete { guard: Guard?, error: Throwable? ->
        when {
            guard != null -> waiting.resume(guard) { _, granted, _ -> granted.releaseAsync() }
            error != null -> waiting.resumeWithException(error)
        }
    }
}

/** Holds a lock for a moment. */
fun main() = runBlocking {
    TenureClient.fromEnvironment().use { client ->
        client.lock("nightly-report").owner("kotlin").withLock { hold -> println("acquired token=${hold.token()}") }
        println("released")
    }
}
