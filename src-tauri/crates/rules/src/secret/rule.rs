//! The rules as data: reads `rules.toml` and compiles each pattern when it is first needed.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use super::Tier;
use super::checksum::Checksum;
use super::placeholder;
use super::template::Template;

/// Why the rule file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    #[error("the rule file is no valid TOML: {0}")]
    Syntax(#[from] toml::de::Error),
    #[error("rule `{rule}`: {why}")]
    Rule { rule: String, why: String },
    #[error("the keyword automaton cannot be built: {0}")]
    Automaton(#[from] aho_corasick::BuildError),
}

#[derive(Debug, Deserialize)]
struct RawFile {
    rule: Vec<RawRule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    id: String,
    family: String,
    tier: Tier,
    /// Literals that bring the rule into play; for `near` rules the names themselves.
    #[serde(default)]
    keywords: Vec<String>,
    /// Names whose assignment gives the token its meaning.
    #[serde(default)]
    near: Vec<String>,
    token: Option<String>,
    shape: Option<Shape>,
    checksum: Option<Checksum>,
    entropy: Option<f32>,
    /// Texts (in the format language) that the rule must not find.
    #[serde(default)]
    not: Vec<String>,
    /// Further texts, `{token}` standing for the secret, that the rule must find.
    #[serde(default)]
    also: Vec<String>,
}

/// Finders that are code, since they are no regular format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    PrivateKey,
    Assignment,
    Url,
    WebToken,
}

/// How a rule finds its secret.
#[derive(Debug)]
pub enum Finder {
    /// A format that speaks for itself.
    Token(Template),
    /// A format that means something when assigned to one of these names.
    Near {
        names: Vec<String>,
        template: Template,
    },
    PrivateKey,
    Assignment,
    Url,
    /// A JSON web token.
    WebToken,
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    pub id: String,
    pub family: String,
    pub tier: Tier,
    pub keywords: Vec<String>,
    pub finder: Finder,
    pub checksum: Option<Checksum>,
    /// Texts the rule must not find, in the format language.
    pub not: Vec<String>,
    /// Further texts the rule must find; `{token}` stands for the secret.
    pub also: Vec<String>,
    entropy: Option<f32>,
    regex: OnceLock<Regex>,
}

impl Rule {
    /// Reads the rule file.
    pub fn read_all(text: &str) -> Result<Vec<Self>, RuleError> {
        let file: RawFile = toml::from_str(text)?;
        file.rule.into_iter().map(Self::try_from).collect()
    }

    /// The pattern of the rule's format, anchored at its beginning when `lead` is 0.
    pub(super) fn regex(&self, template: &Template) -> &Regex {
        self.regex.get_or_init(|| {
            let anchor = if self.lead(template) == 0 { r"\A" } else { "" };
            let pattern = format!("{anchor}(?:{})", template.pattern());
            let built = RegexBuilder::new(&pattern).unicode(false).size_limit(8 << 20).build();
            built.expect("BUG: a template always writes a valid pattern; the rule file's test builds each")
        })
    }

    /// How far in front of a keyword the format may begin.
    pub(super) fn lead(&self, template: &Template) -> usize {
        match &self.finder {
            Finder::Token(_) => {
                self.keywords.iter().filter_map(|word| template.lead(word)).max().unwrap_or(0)
            }
            Finder::Near { .. }
            | Finder::PrivateKey
            | Finder::Assignment
            | Finder::Url
            | Finder::WebToken => 0,
        }
    }

    /// What a text of the right format is worth; nothing when it only stands in for a secret.
    pub(super) fn weigh(&self, template: &Template, token: &[u8]) -> Option<Tier> {
        let random = &token[template.head(token)..];
        // A format may have a run of its own, such as ten fixed letters A.
        let run = (template.own_run() + 4).max(placeholder::FILLER_RUN);
        if placeholder::longest_run(token) >= run
            || placeholder::is_stand_in(token)
            || placeholder::entropy(random) < self.floor(template, random.len())
        {
            return None;
        }
        match self.checksum {
            // A wrong checksum may also be a scheme that changed: a look, but no block.
            Some(checksum) if !checksum.holds(token) => Some(Tier::Generic),
            Some(_) | None => Some(self.tier),
        }
    }

    /// How much of the format is fixed: of two rules for one text, the more particular one counts.
    pub(super) fn particular(&self) -> usize {
        match &self.finder {
            Finder::Token(template) => template.fixed(),
            Finder::Near { template, .. } => 1000 + template.fixed(),
            Finder::PrivateKey => 1000,
            Finder::Assignment | Finder::Url | Finder::WebToken => 0,
        }
    }

    /// The least entropy of a real token: well below what its length and alphabet give by chance.
    fn floor(&self, template: &Template, random: usize) -> f32 {
        if let Some(bits) = self.entropy {
            return bits;
        }
        let kinds = template.widest().map_or(1, |class| class.size()).min(random).max(1);
        0.6 * (kinds as f32).log2()
    }
}

impl TryFrom<RawRule> for Rule {
    type Error = RuleError;

    fn try_from(raw: RawRule) -> Result<Self, RuleError> {
        let wrong = |why: String| RuleError::Rule { rule: raw.id.clone(), why };
        let template = match &raw.token {
            Some(token) => Some(Template::parse(token, raw.checksum).map_err(&wrong)?),
            None => None,
        };
        let finder = match (raw.shape, template) {
            (Some(Shape::PrivateKey), None) => Finder::PrivateKey,
            (Some(Shape::Assignment), None) => Finder::Assignment,
            (Some(Shape::Url), None) => Finder::Url,
            (Some(Shape::WebToken), None) => Finder::WebToken,
            (Some(_), Some(_)) => return Err(wrong("has a shape and a token; keep one".into())),
            (None, None) => return Err(wrong("has neither token nor shape".into())),
            (None, Some(template)) if raw.near.is_empty() => {
                if raw.keywords.is_empty() {
                    return Err(wrong("has no keyword".into()));
                }
                if let Some(lost) = raw.keywords.iter().find(|word| template.lead(word).is_none()) {
                    return Err(wrong(format!("the keyword `{lost}` is not in its token")));
                }
                Finder::Token(template)
            }
            (None, Some(template)) => Finder::Near { names: raw.near.clone(), template },
        };
        let keywords = if raw.near.is_empty() { raw.keywords } else { raw.near };
        Ok(Self {
            id: raw.id,
            family: raw.family,
            tier: raw.tier,
            keywords,
            finder,
            checksum: raw.checksum,
            not: raw.not,
            also: raw.also,
            entropy: raw.entropy,
            regex: OnceLock::new(),
        })
    }
}
