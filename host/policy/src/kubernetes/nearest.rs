//! The known name that is most like one that is not known, for messages. Start at [`nearest`].

use crate::limits::SWITCH_NAME_BYTES;

/// Returns the name that takes the fewest changed letters, where at most a third of its letters change; capitals do not count.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if name.len() > SWITCH_NAME_BYTES {
        return None;
    }
    let near = known.map(|known| (distance(name, known), known)).min();
    near.filter(|(changes, known)| changes * 3 <= known.len()).map(|(_, known)| known)
}

/// The number of letters that are inserted, removed or replaced to make one text of the other.
fn distance(one: &str, other: &str) -> usize {
    let letters = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
    let (one, other) = (letters(one), letters(other));
    // The row for the letters of `one` so far: the distance to each beginning of `other`.
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.iter().enumerate() {
        let mut next = vec![index + 1];
        let (mut before, mut left) = (index, index + 1);
        for (other, above) in other.iter().zip(row.iter().skip(1)) {
            left = (before + usize::from(letter != other)).min(above + 1).min(left + 1);
            before = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_letters() {
        for (one, other, expected) in
            [("", "", 0), ("abc", "", 3), ("", "abc", 3), ("kitten", "sitting", 3), ("DRATaints", "dRAtaint", 1)]
        {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn only_what_is_like_a_name_is_offered() {
        let known = || ["DRADeviceTaints", "DRADeviceTaintRules", "VolumeLimitScaling"].into_iter();
        assert_eq!(nearest("DRADeviceTaint", known()), Some("DRADeviceTaints"));
        assert_eq!(nearest("volumelimitscaling", known()), Some("VolumeLimitScaling"));
        assert_eq!(nearest("SidecarContainers", known()), None);
        assert_eq!(nearest(&"D".repeat(100_000), known()), None);
        assert_eq!(nearest("x", std::iter::empty()), None);
    }
}
