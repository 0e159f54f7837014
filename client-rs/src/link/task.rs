//! The connection's task.

use tonic::transport::Endpoint;

use crate::link::Inbox;
use crate::options::ClientOptions;

pub(crate) async fn run(endpoints: Vec<Endpoint>, options: ClientOptions, mut inbox: Inbox) {
    let _ = (endpoints, options);
    while inbox.requests.recv().await.is_some() {}
}
