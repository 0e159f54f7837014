//! Shared text, and the names of a claim.

use std::fmt;
use std::ops::Deref;

/// Shared text: names, ids, labels. As small as a pointer, since a session has a dozen of them.
pub type Text = arcstr::ArcStr;

/// Names of locks: nearly always one, which takes no memory besides its text.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(from = "Vec<Text>")]
pub struct Names(Inner);

#[derive(Clone, PartialEq, Eq)]
#[expect(clippy::box_collection, reason = "a thin pointer keeps the whole small")]
enum Inner {
    One(Text),
    /// No name, or at least two.
    Several(Box<Vec<Text>>),
}

impl Deref for Names {
    type Target = [Text];

    fn deref(&self) -> &[Text] {
        match &self.0 {
            Inner::One(name) => std::slice::from_ref(name),
            Inner::Several(names) => names,
        }
    }
}

impl From<Vec<Text>> for Names {
    fn from(mut names: Vec<Text>) -> Self {
        match names.pop() {
            Some(name) if names.is_empty() => Self(Inner::One(name)),
            last => {
                names.extend(last);
                Self(Inner::Several(Box::new(names)))
            }
        }
    }
}

impl From<Text> for Names {
    fn from(name: Text) -> Self {
        Self(Inner::One(name))
    }
}

impl FromIterator<Text> for Names {
    fn from_iter<I: IntoIterator<Item = Text>>(names: I) -> Self {
        let mut names = names.into_iter();
        match (names.next(), names.next()) {
            (Some(name), None) => Self::from(name),
            (first, second) => first.into_iter().chain(second).chain(names).collect::<Vec<Text>>().into(),
        }
    }
}

impl<'a> IntoIterator for &'a Names {
    type Item = &'a Text;
    type IntoIter = std::slice::Iter<'a, Text>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

impl serde::Serialize for Names {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_equal_those_they_were_made_of() {
        for all in [vec![], vec!["a"], vec!["a", "b"], vec!["a", "b", "c"]] {
            let texts: Vec<Text> = all.iter().map(|name| Text::from(*name)).collect();
            let (made, collected) = (Names::from(texts.clone()), texts.iter().cloned().collect::<Names>());
            assert_eq!(*made, *texts);
            assert_eq!(made, collected);
            assert!(made.into_iter().eq(&texts));
        }
    }

    #[test]
    fn single_name_takes_no_memory_of_its_own() {
        let one = Text::from("a");
        for names in [Names::from(one.clone()), vec![one.clone()].into(), [one.clone()].into_iter().collect()] {
            assert!(matches!(names.0, Inner::One(name) if Text::ptr_eq(&name, &one)));
        }
    }
}
