//! Writes made-up secrets of each rule's format, and texts that nearly are, from a seed.

use super::rule::{Finder, Rule};
use super::template::Bend;

/// A small seeded generator (SplitMix64); the same seed writes the same texts.
#[derive(Debug, Clone)]
pub struct Dice {
    state: u64,
}

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 when the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.roll() % limit as u64) as usize }
    }

    pub fn text(&mut self, members: &str, width: usize) -> String {
        let members = members.as_bytes();
        (0..width).map(|_| char::from(members[self.below(members.len())])).collect()
    }
}

/// What a planted text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A secret: the rule must find it.
    Secret,
    /// One character short.
    Short,
    /// A wrong checksum.
    WrongChecksum,
    /// Filler where the secret would be.
    Placeholder,
}

/// A planted line (or lines, for keys).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plant {
    pub rule: String,
    pub kind: Kind,
    pub text: String,
    /// The made-up secret inside the text.
    pub secret: String,
}

/// Writes one text of the kind for the rule; nothing when the rule has no such kind.
pub fn plant(rule: &Rule, kind: Kind, seed: u64) -> Option<Plant> {
    let mut dice = Dice::new(seed ^ crc32fast::hash(rule.id.as_bytes()) as u64);
    let bend = match kind {
        Kind::Secret => Bend::Straight,
        Kind::Short => Bend::Short,
        Kind::WrongChecksum => {
            rule.checksum?;
            Bend::WrongCheck
        }
        Kind::Placeholder => Bend::Filler,
    };
    let (secret, text) = match &rule.finder {
        Finder::Token(template) => {
            let secret = template.write(&mut dice, bend);
            let text = in_token_line(&mut dice, &secret);
            (secret, text)
        }
        Finder::Near { names, template } => {
            let secret = template.write(&mut dice, bend);
            let name = &names[dice.below(names.len())];
            let text = in_assignment(&mut dice, name, &secret);
            (secret, text)
        }
        Finder::PrivateKey => {
            let lines = match kind {
                Kind::Secret => 12,
                Kind::Short | Kind::Placeholder => 0,
                Kind::WrongChecksum => return None,
            };
            private_key(&mut dice, lines)
        }
        Finder::Assignment => {
            let width = if kind == Kind::Short { 6 } else { 32 };
            let members = if kind == Kind::Placeholder { "x" } else { BASE62 };
            let secret = dice.text(members, width);
            let name = ["client_secret", "api_key", "auth_token", "db_password"][dice.below(4)];
            let text = in_assignment(&mut dice, name, &secret);
            (secret, text)
        }
        Finder::WebToken => {
            let (members, signature) = match kind {
                Kind::Secret => (BASE62, 43),
                Kind::Short | Kind::Placeholder => (BASE62, 12),
                Kind::WrongChecksum => return None,
            };
            let part = |dice: &mut Dice, width: usize| dice.text(members, width);
            let secret = format!(
                "eyJ{}.eyJ{}.{}",
                part(&mut dice, 33),
                part(&mut dice, 80),
                part(&mut dice, signature)
            );
            let text = in_token_line(&mut dice, &secret);
            (secret, text)
        }
        Finder::Url => {
            let width = if kind == Kind::Short { 3 } else { 18 };
            let members = if kind == Kind::Placeholder { "x" } else { BASE62 };
            let secret = dice.text(members, width);
            let scheme = ["postgres", "mysql", "redis", "amqp", "mongodb"][dice.below(5)];
            let text = format!("url: {scheme}://svc:{secret}@db.internal:5432/app");
            (secret, text)
        }
    };
    Some(Plant { rule: rule.id.clone(), kind, text, secret })
}

const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn in_token_line(dice: &mut Dice, secret: &str) -> String {
    match dice.below(5) {
        0 => format!("export SERVICE_VALUE=\"{secret}\""),
        1 => format!("    let value = \"{secret}\";"),
        2 => format!("value: '{secret}'"),
        3 => format!("VALUE={secret}"),
        _ => format!("{{\"value\": \"{secret}\"}}"),
    }
}

fn in_assignment(dice: &mut Dice, name: &str, secret: &str) -> String {
    match dice.below(5) {
        0 => format!("{}_KEY=\"{secret}\"", name.to_uppercase().replace(['-', '.', ' '], "_")),
        1 => format!("{name}_token = \"{secret}\""),
        2 => format!("{name}_api_key: '{secret}'"),
        3 => format!("{{\"{name}_secret\": \"{secret}\"}}"),
        _ => format!("const {name}_key = '{secret}';"),
    }
}

fn private_key(dice: &mut Dice, lines: usize) -> (String, String) {
    let kind = ["RSA ", "EC ", "OPENSSH ", ""][dice.below(4)];
    // The marker is put together here, so that this file is no hit itself.
    let marker = |word: &str| format!("{dashes}{word} {kind}PRIVATE KEY{dashes}", dashes = "-".repeat(5));
    let members = format!("{BASE62}+/");
    let body: Vec<String> = (0..lines).map(|_| dice.text(&members, 64)).collect();
    let text = format!("{}\n{}\n{}\n", marker("BEGIN"), body.join("\n"), marker("END"));
    (body.join("\n"), text)
}
