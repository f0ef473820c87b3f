//! Places of requests: how many are read and answered at a time.

use std::sync::Arc;

use capbench_http::Turn;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests that are read or answered at a time, also those whose client has left.
const MOST_REQUESTS: usize = 8;

/// Captures that clients fetch at a time.
const MOST_CAPTURES: usize = 4;

/// Places of requests. A place is free when its work is done, also if the client has left.
#[derive(Clone, Debug)]
pub struct Places {
    pub requests: Arc<Semaphore>,
    pub large_bodies: Arc<Semaphore>,
    pub captures: Arc<Semaphore>,
    /// For reading what may be a stop, which waits for no other request.
    pub stops: Arc<Semaphore>,
}

impl Default for Places {
    fn default() -> Self {
        let [requests, large_bodies, captures, stops] =
            [MOST_REQUESTS, 1, MOST_CAPTURES, 1].map(|places| Arc::new(Semaphore::new(places)));
        Self { requests, large_bodies, captures, stops }
    }
}

/// Waits for one of these places. `None`: another connection waits for that of the request, or it took too long.
pub async fn wait_for_place(places: &Arc<Semaphore>, turn: Option<&Turn>) -> Option<OwnedSemaphorePermit> {
    let place = Arc::clone(places).acquire_owned();
    match turn {
        Some(turn) => turn.wait_for(place).await?.ok(),
        None => place.await.ok(),
    }
}
