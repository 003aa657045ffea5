//! Checksums that a token carries in itself, verified offline.

use serde::Deserialize;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A published checksum scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checksum {
    /// Six base62 digits: the CRC-32 of what stands between the prefix and them (GitHub, npm).
    Crc32Base62,
    /// Eight hex digits: the little-endian CRC-32 of all before the last underscore (Grafana).
    Crc32Hex,
}

impl Checksum {
    /// How many characters the checksum takes.
    pub fn width(self) -> usize {
        match self {
            Self::Crc32Base62 => 6,
            Self::Crc32Hex => 8,
        }
    }

    /// The checksum that belongs behind `body`, the token up to it.
    pub fn of(self, body: &[u8]) -> String {
        match self {
            Self::Crc32Base62 => {
                let start = body.iter().position(|b| *b == b'_').map_or(0, |at| at + 1);
                let mut rest = crc32fast::hash(&body[start..]);
                let mut digits = [b'0'; 6];
                for digit in digits.iter_mut().rev() {
                    *digit = BASE62[(rest % 62) as usize];
                    rest /= 62;
                }
                digits.iter().map(|b| char::from(*b)).collect()
            }
            Self::Crc32Hex => {
                let body = body.strip_suffix(b"_").unwrap_or(body);
                hex::encode(crc32fast::hash(body).to_le_bytes())
            }
        }
    }

    /// Whether the token's own checksum agrees with its body.
    pub fn holds(self, token: &[u8]) -> bool {
        let Some(split) = token.len().checked_sub(self.width()) else { return false };
        let (body, check) = token.split_at(split);
        self.of(body).as_bytes() == check
    }
}
