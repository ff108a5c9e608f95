//! The built-in prices, as the providers' public lists had them in the middle of 2025: estimates of
//! that date. Where the length of the prompt or the hour counts, it is the usual price that stands
//! here; what was on no such list has none.

use crate::price::{ListPrice, claude, list};

pub(super) const ANTHROPIC: &[ListPrice] = &[
    claude("claude-opus-4-1", 15.0, 75.0),
    claude("claude-opus-4", 15.0, 75.0),
    claude("claude-sonnet-4", 3.0, 15.0),
    claude("claude-3-7-sonnet", 3.0, 15.0),
    claude("claude-3-5-sonnet", 3.0, 15.0),
    claude("claude-3-5-haiku", 0.8, 4.0),
    claude("claude-3-opus", 15.0, 75.0),
];

pub(super) const OPENAI: &[ListPrice] = &[
    list("gpt-5", 1.25, 0.125, 10.0),
    list("gpt-5-mini", 0.25, 0.025, 2.0),
    list("gpt-5-nano", 0.05, 0.005, 0.4),
    list("gpt-4.1", 2.0, 0.5, 8.0),
    list("gpt-4.1-mini", 0.4, 0.1, 1.6),
    list("gpt-4.1-nano", 0.1, 0.025, 0.4),
    list("gpt-4o", 2.5, 1.25, 10.0),
    list("gpt-4o-mini", 0.15, 0.075, 0.6),
    list("o3", 2.0, 0.5, 8.0),
    list("o4-mini", 1.1, 0.275, 4.4),
];

pub(super) const DEEPSEEK: &[ListPrice] = &[
    list("deepseek-chat", 0.27, 0.07, 1.1),
    list("deepseek-reasoner", 0.55, 0.14, 2.19),
];

pub(super) const GROQ: &[ListPrice] = &[
    list("llama-3.3-70b-versatile", 0.59, 0.59, 0.79),
    list("llama-3.1-8b-instant", 0.05, 0.05, 0.08),
];

pub(super) const MISTRAL: &[ListPrice] = &[
    list("mistral-large", 2.0, 2.0, 6.0),
    list("mistral-medium", 0.4, 0.4, 2.0),
    list("mistral-small", 0.1, 0.1, 0.3),
];

pub(super) const XAI: &[ListPrice] = &[
    list("grok-4", 3.0, 0.75, 15.0),
    list("grok-3", 3.0, 0.75, 15.0),
    list("grok-3-mini", 0.3, 0.075, 0.5),
];

pub(super) const TOGETHER: &[ListPrice] = &[list(
    "meta-llama/Llama-3.3-70B-Instruct-Turbo",
    0.88,
    0.88,
    0.88,
)];

pub(super) const FIREWORKS: &[ListPrice] = &[list(
    "accounts/fireworks/models/llama-v3p3-70b-instruct",
    0.9,
    0.9,
    0.9,
)];

pub(super) const GEMINI: &[ListPrice] = &[
    list("gemini-2.5-pro", 1.25, 0.31, 10.0),
    list("gemini-2.5-flash", 0.3, 0.075, 2.5),
    list("gemini-2.5-flash-lite", 0.1, 0.025, 0.4),
];

pub(super) const MOONSHOT: &[ListPrice] = &[list("kimi-k2-0711-preview", 0.6, 0.15, 2.5)];
