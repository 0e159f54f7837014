//! What goes wrong, drawn from the seed.

use std::time::Duration;

use rand::RngExt;

use crate::host::HostId;
use crate::run::Cast;
use crate::world::{DATABASE, World};

/// The longest time that a fault lasts.
const LONGEST: Duration = Duration::from_secs(6);

/// Begins with faults; they end, and none begins after `until`.
pub fn begin(world: &mut World, cast: &Cast, until: Duration) {
    let pause = Duration::from_millis(world.rng.random_range(100..4_000));
    let cast = cast.clone();
    world.after(pause, move |world| {
        if world.now() < until {
            one(world, &cast);
            begin(world, &cast, until);
        }
    });
}

fn one(world: &mut World, cast: &Cast) {
    let lasts = Duration::from_millis(world.rng.random_range(10..LONGEST.as_millis() as u64));
    let server = cast.servers[world.rng.random_range(0..cast.servers.len())];
    let client = cast.clients[world.rng.random_range(0..cast.clients.len())];
    let any: HostId = if world.rng.random() { server } else { client };
    match world.rng.random_range(0..15) {
        0 => {
            let with_machine = world.rng.random();
            if world.host(server).is_up() {
                world.kill(server, with_machine);
                let cast = cast.clone();
                world.after(lasts, move |world| cast.start_server(world, server));
            }
        }
        1 => {
            let with_machine = world.rng.random();
            if world.host(client).is_up() {
                world.kill(client, with_machine);
                let cast = cast.clone();
                world.after(lasts, move |world| cast.start_client(world, client));
            }
        }
        2 | 3 => {
            if !world.host(any).is_frozen {
                world.freeze(any);
                world.after(lasts, move |world| world.thaw(any));
            }
        }
        4 => {
            for other in cast.all().filter(|other| *other != any).chain([DATABASE]) {
                world.network.cut(any, other);
                world.network.cut(other, any);
            }
            world.after(lasts, World::heal);
        }
        5 => {
            let other = cast.servers[world.rng.random_range(0..cast.servers.len())];
            world.network.cut(any, other);
            world.after(lasts, World::heal);
        }
        6 => {
            world.network.cut(server, DATABASE);
            world.after(lasts, World::heal);
        }
        7 => {
            world.network.cut(DATABASE, server);
            world.after(lasts, World::heal);
        }
        8 => {
            for cable in world.network.of(Some(any)) {
                world.break_cable(&cable);
            }
        }
        9 => {
            world.weather.is_down = true;
            world.after(lasts, |world| world.weather.is_down = false);
        }
        10 => {
            world.weather.slow = lasts / 4;
            world.after(lasts, |world| world.weather.slow = Duration::ZERO);
        }
        11 => {
            world.weather.loses_answers = world.rng.random_range(1..10);
            world.after(lasts, |world| world.weather.loses_answers = 0);
        }
        12 => {
            world.weather.is_late = world.rng.random_range(1..10);
            world.after(lasts, |world| world.weather.is_late = 0);
        }
        13 => {
            world.network.slow = lasts / 8;
            world.after(lasts, |world| world.network.slow = Duration::ZERO);
        }
        _ => {
            let wall = Duration::from_secs(1_800_000_000 + world.rng.random_range(0..7_200));
            if world.rng.random() { world.set_database_wall(wall) } else { world.set_wall(any, wall) }
        }
    }
}
