//! What reviews and their refusals say.
