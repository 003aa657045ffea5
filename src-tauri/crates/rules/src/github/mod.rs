//! What is judged about GitHub itself, apart from any one repository.

pub mod scopes;
