//! Streams: the attachment of sessions to them, and the effect of their ends.

use super::{Home, RenewError, StreamId, Tick};
use crate::model::{Attached, SessionSpec};
use crate::names::Text;

impl Home {
    /// Attaches a session to a stream, which renews it. Returns the previous stream, if it was another one.
    ///
    /// # Errors
    /// See [`Self::renew`].
    pub fn attach(&mut self, session: &Text, stream: StreamId, now: Tick) -> Result<Option<StreamId>, RenewError> {
        let timer = self.sessions.get_mut(session).ok_or(RenewError::NotHome)?;
        if timer.declared > 0 {
            return Err(RenewError::NotAttached);
        }
        timer.check(self.floors.of(timer.opened), now)?;
        timer.renew(now);
        let before = timer.stream().filter(|before| *before != stream);
        let has_grace = timer.attach(stream);
        if let Some(before) = before {
            self.by_stream.remove(&(before, session.clone()));
        }
        if has_grace {
            self.by_stream.insert((stream, session.clone()));
        }
        Ok(before)
    }

    /// The client's side of a stream has ended, and not because of this server: the sessions attached to it end after
    /// their disconnect grace, unless they are attached to another stream before.
    pub fn disconnected(&mut self, stream: StreamId, now: Tick) {
        let attached = self.by_stream.range((stream, Text::default())..).take_while(|(of, _)| *of == stream);
        for entry in attached.cloned().collect::<Vec<_>>() {
            self.by_stream.remove(&entry);
            self.disconnect(&entry.1, Some(stream), now);
        }
    }

    /// The stream that a session was to be attached to ended before the attachment.
    pub fn attach_failed(&mut self, session: &Text, now: Tick) {
        self.disconnect(session, None, now);
    }

    pub(super) fn disconnect(&mut self, session: &Text, stream: Option<StreamId>, now: Tick) {
        if self.sessions.get_mut(session).is_some_and(|timer| timer.disconnect(stream, now)) {
            self.schedule(session, now);
        }
    }

    /// The stream that a session is attached to.
    #[must_use]
    pub fn stream_of(&self, session: &str) -> Option<StreamId> {
        self.sessions.get(session)?.stream()
    }

    /// Records the attachment count and the opener of a session.
    pub(super) fn set_client(&mut self, spec: &SessionSpec) {
        if let Some(timer) = self.sessions.get_mut(&spec.id) {
            timer.attachment = spec.attachment;
            timer.identity = spec.identity.clone();
            timer.client = spec.client.clone();
            timer.declared = spec.declared;
        }
    }

    /// Whether a session has its home here and was opened by another identity.
    #[must_use]
    pub fn is_of_another(&self, session: &str, identity: &Text) -> bool {
        let opener = self.sessions.get(session).and_then(|timer| timer.identity.as_ref());
        opener.is_some_and(|opener| opener != identity)
    }

    /// Whether a session has its home here and was opened by another program.
    #[must_use]
    pub fn is_of_another_client(&self, session: &str, client: &Text) -> bool {
        let opener = self.sessions.get(session).and_then(|timer| timer.client.as_ref());
        opener.is_some_and(|opener| opener != client)
    }

    /// The attachment of a session, if it is attached to this stream.
    #[must_use]
    pub fn attached_by(&self, session: &str, stream: StreamId) -> Option<Attached> {
        let timer = self.sessions.get(session).filter(|timer| timer.stream() == Some(stream))?;
        Some(Attached { count: timer.attachment, lost: self.floors.lost })
    }
}
