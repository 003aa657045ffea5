//! The page in the window, as a person uses it: by what is named on it.

use std::time::Duration;

use anyhow::{Context, Result};
use fantoccini::elements::Element;
use fantoccini::{Client, Locator};
use serde_json::{Value, json};

use crate::process::screens;
use crate::{PATIENCE, until};

/// The page of the app's window.
pub struct Page {
    client: Client,
}

impl Page {
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Waits for the element that carries this name and can be seen.
    pub async fn find(&self, name: &str) -> Element {
        self.find_within(name, PATIENCE).await
    }

    /// [`Self::find`] for what takes longer.
    pub async fn find_within(&self, name: &str, limit: Duration) -> Element {
        let selector = format!("[data-testid=\"{name}\"]");
        until(&format!("{name} on the page"), limit, async || {
            let element = self.client.find(Locator::Css(&selector)).await.ok()?;
            element.is_displayed().await.ok()?.then_some(element)
        })
        .await
    }

    /// Whether the page has the element now.
    pub async fn has(&self, name: &str) -> bool {
        self.client.find(Locator::Css(&format!("[data-testid=\"{name}\"]"))).await.is_ok()
    }

    /// Clicks an element as soon as it can be.
    pub async fn click(&self, name: &str) {
        until(&format!("{name} to be clicked"), PATIENCE, async || self.find(name).await.click().await.ok())
            .await;
    }

    /// Types into an empty field.
    pub async fn fill(&self, name: &str, text: &str) -> Result<()> {
        let field = self.find(name).await;
        field.clear().await.with_context(|| format!("clearing {name}"))?;
        field.send_keys(text).await.with_context(|| format!("typing into {name}"))
    }

    /// The text of an element.
    pub async fn text(&self, name: &str) -> String {
        until(&format!("the text of {name}"), PATIENCE, async || self.find(name).await.text().await.ok())
            .await
    }

    /// Waits until an element's text holds the words, and returns it.
    pub async fn says(&self, name: &str, words: &str, limit: Duration) -> String {
        until(&format!("{words:?} in {name}"), limit, async || {
            let selector = format!("[data-testid=\"{name}\"]");
            let element = self.client.find(Locator::Css(&selector)).await.ok()?;
            let text = element.text().await.ok()?;
            text.to_lowercase().contains(&words.to_lowercase()).then_some(text)
        })
        .await
    }

    /// The part of the address after `#`.
    pub async fn place(&self) -> Result<String> {
        let place = self.client.execute("return location.hash", Vec::new()).await?;
        Ok(place.as_str().unwrap_or_default().trim_start_matches(['#', '/']).to_owned())
    }

    /// Waits until the page is at this target.
    pub async fn is_at(&self, target: &str) {
        until(&format!("the page at {target}"), PATIENCE, async || {
            (self.place().await.ok()? == target).then_some(())
        })
        .await;
    }

    /// Runs a script in the page.
    pub async fn script(&self, script: &str) -> Result<Value> {
        Ok(self.client.execute(script, Vec::new()).await?)
    }

    /// Asks the core through the page's own port.
    pub async fn call(&self, name: &str, request: Value) -> Result<Value> {
        let script = "const [name, request, done] = arguments; \
                      window.__TAURI_INTERNALS__.invoke('call', { name, request })\
                      .then((answer) => done({ answer }), (error) => done({ error }))";
        Ok(self.client.execute_async(script, vec![json!(name), request]).await?)
    }

    /// Saves a picture of the page once it has been painted. A picture taken at once may be the old one.
    pub async fn picture(&self, name: &str) -> Result<()> {
        self.settled().await?;
        let picture = self.client.screenshot().await.context("taking a picture")?;
        std::fs::write(screens().join(format!("{name}.png")), picture).context("saving a picture")
    }

    /// Waits for two frames and the fonts.
    pub async fn settled(&self) -> Result<()> {
        let script = "const done = arguments[arguments.length - 1]; \
                      document.fonts.ready.then(() => requestAnimationFrame(() => \
                      requestAnimationFrame(() => setTimeout(done, 60))))";
        self.client.execute_async(script, Vec::new()).await.context("waiting for the page to be painted")?;
        Ok(())
    }
}
