//! Injects faults, drawn from the seed.

use std::time::Duration;

use rand::RngExt;

use crate::database::DATABASE;
use crate::host::HostId;
use crate::run::Hosts;
use crate::world::World;

/// Maximum duration of a fault, as a fraction of the busy period.
pub const MAX_DURATION: f64 = 0.5;

/// Schedules faults. Every fault ends, and none starts after the busy period.
pub fn schedule(world: &mut World, hosts: &Hosts) {
    let pause = hosts.busy.mul_f64(world.rng.random_range(0.01..0.33));
    let hosts = hosts.clone();
    world.after(pause, move |world| {
        if world.now() < hosts.busy {
            inject(world, &hosts);
            schedule(world, &hosts);
        }
    });
}

fn inject(world: &mut World, hosts: &Hosts) {
    let lasts = hosts.busy.mul_f64(world.rng.random_range(0.001..MAX_DURATION));
    let server = hosts.servers[world.rng.random_range(0..hosts.servers.len())];
    let client = hosts.clients[world.rng.random_range(0..hosts.clients.len())];
    let any: HostId = if world.rng.random() { server } else { client };
    let kind = world.rng.random_range(0..17);
    let now = world.now();
    world.faults.push((now, format!("fault {kind}: server {server}, client {client}, any {any}, for {lasts:?}")));
    match kind {
        0 => {
            let with_machine = world.rng.random();
            if world.host(server).is_up() {
                world.kill(server, with_machine);
                let hosts = hosts.clone();
                world.after(lasts, move |world| hosts.start_server(world, server));
            }
        }
        1 => {
            let with_machine = world.rng.random();
            if world.host(client).is_up() {
                world.kill(client, with_machine);
                let hosts = hosts.clone();
                world.after(lasts, move |world| hosts.start_client(world, client));
            }
        }
        2 | 3 => {
            if !world.host(any).is_frozen {
                world.freeze(any);
                world.after(lasts, move |world| world.thaw(any));
            }
        }
        4 => {
            for other in hosts.all().filter(|other| *other != any).chain([DATABASE]) {
                world.network.cut(any, other);
                world.network.cut(other, any);
            }
            world.after(lasts, World::heal);
        }
        5 => {
            let other = hosts.servers[world.rng.random_range(0..hosts.servers.len())];
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
            for connection in world.network.of(Some(any)) {
                world.break_connection(&connection);
            }
        }
        9 => {
            world.database.faults.is_down = true;
            world.after(lasts, |world| world.database.faults.is_down = false);
        }
        10 => {
            world.database.faults.slow = lasts / 4;
            world.after(lasts, |world| world.database.faults.slow = Duration::ZERO);
        }
        11 => {
            world.database.faults.lost_responses = world.rng.random_range(1..10);
            world.after(lasts, |world| world.database.faults.lost_responses = 0);
        }
        12 => {
            world.database.faults.late_requests = world.rng.random_range(1..10);
            world.after(lasts, |world| world.database.faults.late_requests = 0);
        }
        13 => {
            world.network.slow = lasts / 8;
            world.after(lasts, |world| world.network.slow = Duration::ZERO);
        }
        14 | 15 => {
            // Half of the time the copy is complete; otherwise it lags and lacks the last batches.
            let lost = if world.rng.random() { 0 } else { world.rng.random_range(1..20) };
            world.database.faults.is_down = true;
            world.after(lasts / 4, move |world| {
                world.fail_over(lost);
                world.database.faults.is_down = false;
            });
        }
        _ => {
            let wall = Duration::from_secs(1_800_000_000 + world.rng.random_range(0..7_200));
            if world.rng.random() { world.database.wall = wall } else { world.set_wall(any, wall) }
        }
    }
}
