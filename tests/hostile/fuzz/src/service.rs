//! The whole service over an in-memory database with occasional failures: arbitrary calls, sequential and concurrent.

pub(crate) mod drawn;
mod server;

use prost_reflect::{DynamicMessage, MethodDescriptor};
use tokio::task::JoinSet;

use crate::contract::METHODS;
use crate::draw::Draw;
use drawn::Known;
use server::{Answer, TIMEOUT, TestServer};

/// The most calls of one run.
const CALLS: usize = 48;

/// Every call ends in time with an answer or a rejection of the contract. The table equals a replay of the log, and is
/// consistent.
pub fn service(data: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(serve(Draw::new(data)));
}

async fn serve(mut draw: Draw<'_>) {
    let server = TestServer::open().await;
    let (mut known, mut calls) = (Known::default(), JoinSet::new());
    for _ in 0..CALLS {
        if draw.is_over() {
            break;
        }
        if draw.below(16) == 15 {
            server.fail_next(draw.byte());
        }
        let method = &METHODS[draw.below(METHODS.len())];
        let request = drawn::message(&mut draw, &method.input(), &known);
        let call = call(server.clone(), method.clone(), request);
        match draw.below(4) {
            0 => drop(calls.spawn(call)),
            _ => call.await.iter().for_each(|answer| known.learn(answer)),
        }
        while let Some(answers) = calls.try_join_next() {
            answers.expect("no panic").iter().for_each(|answer| known.learn(answer));
        }
    }
    while let Some(answers) = calls.join_next().await {
        answers.expect("no panic");
    }
    server.check().await;
}

/// The answers to a call.
async fn call(server: TestServer, method: MethodDescriptor, request: DynamicMessage) -> Vec<DynamicMessage> {
    match server.call(&method, &request).await {
        Answer::Replied(answers) => answers,
        Answer::Rejected(status) => {
            crate::contract::check_rejection(&status, &method.input());
            Vec::new()
        }
        Answer::Pending => {
            let waits_forever = method.name() == "Acquire" && !request.has_field_by_name("wait");
            assert!(waits_forever || method.is_server_streaming(), "no answer in {TIMEOUT:?}: {request:?}");
            Vec::new()
        }
    }
}
