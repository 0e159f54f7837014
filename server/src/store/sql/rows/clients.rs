//! Encoding and decoding of clients as rows.

use tenure_core::{Client, Items, ServerId};

use super::{int, number, optional_text, text};
use crate::store::sql::connection::{Arg, DriverError, Row};
use crate::store::sql::statements::Table;

pub(crate) static CLIENTS: Table =
    Table { name: "clients", columns: &["namespace", "id", "epoch", "home", "identity", "last"] };

/// Encodes rows of [`CLIENTS`].
pub(crate) fn client_cells<'a>(namespace: &'a str, clients: &'a [Client]) -> Vec<Arg<'a>> {
    let mut cells = Vec::with_capacity(clients.len() * CLIENTS.columns.len());
    for client in clients {
        cells.extend([
            Arg::Text(namespace),
            Arg::Text(&client.id),
            int(client.epoch),
            int(client.home.0),
            optional_text(client.identity.as_deref()),
            int(client.last),
        ]);
    }
    cells
}

/// Decodes a client from the columns of `load_clients`.
pub(crate) fn client(row: &Row<'_>) -> Result<Client, DriverError> {
    Ok(Client {
        id: text(row, 0)?,
        epoch: number(row, 1)?,
        home: ServerId(number(row, 2)?),
        identity: if row.is_null(3) { None } else { Some(text(row, 3)?) },
        last: number(row, 4)?,
        items: Items::default(),
    })
}
