//! The receiving side of the sliding window: fragments and parity in, missing fragments out.
//!
//! Gaussian elimination as packets come. What has arrived is taken out of each equation at once, so
//! that the equations are over missing symbols only; they are kept in reduced echelon form, where an
//! equation that has only its pivot left is that symbol.

use std::collections::VecDeque;

use bytes::Bytes;

use super::coefficient;
use crate::fec::gf256::{self, Sum};
use crate::wire::{SYMBOL_HEAD_BYTES, VideoHeader, WindowParity};

/// A source symbol that is there.
#[derive(Debug, Clone)]
struct Known {
    head: [u8; SYMBOL_HEAD_BYTES],
    payload: Bytes,
}

/// A sum of multiples of missing symbols, and what it comes to.
#[derive(Debug)]
struct Equation {
    /// The first missing symbol, whose factor is 1: no other equation has it.
    pivot: u32,
    /// Factors from the pivot on; the last is not zero.
    factors: Vec<u8>,
    symbol: Vec<u8>,
}

/// Recovers fragments from parity.
#[derive(Debug, Default)]
pub(crate) struct WindowDecoder {
    /// One more than the highest number seen.
    end: u64,
    /// The symbols before `end`, the newest last; [`SOURCES_KEPT`] of them once anything has come.
    sources: VecDeque<Option<Known>>,
    /// In the order of their pivots.
    equations: Vec<Equation>,
    recovered: VecDeque<(VideoHeader, Bytes)>,
    sum: Sum,
    limit_hits: u64,
    contradictions: u64,
}

impl WindowDecoder {
    /// Times that something was discarded for lack of room.
    pub(crate) fn limit_hits(&self) -> u64 {
        self.limit_hits
    }

    /// Parity that contradicted fragments or other parity since the last call.
    pub(crate) fn take_contradictions(&mut self) -> u64 {
        std::mem::take(&mut self.contradictions)
    }

    /// The next fragment that was recovered.
    pub(crate) fn poll_recovered(&mut self) -> Option<(VideoHeader, Bytes)> {
        self.recovered.pop_front()
    }

    /// Takes a fragment that arrived as source symbol `source`.
    pub(crate) fn insert_source(&mut self, source: u32, header: &VideoHeader, payload: &Bytes) {
        self.advance(source);
        let Some(slot) = self.slot(source) else { return };
        if self.sources[slot].is_some() {
            return;
        }
        let known = Known { head: header.symbol_head(), payload: payload.clone() };
        let mut touched = false;
        let mut contradicted = false;
        for equation in &mut self.equations {
            if let Some(factor) = equation.take_factor(source) {
                touched = true;
                contradicted |= !equation.subtract(factor, &known);
            }
        }
        self.sources[slot] = Some(known);
        if contradicted {
            // Parity that is shorter than what it says it protects: nothing of its making is worth keeping.
            self.contradictions += 1;
            self.equations.clear();
        } else if touched {
            self.restore_form(source);
            self.take_solved();
        }
    }

    /// Takes a parity packet.
    pub(crate) fn insert_parity(&mut self, parity: &WindowParity, symbol: &[u8]) {
        self.advance(parity.first + (u32::from(parity.count) - 1));
        // Late parity, part of whose symbols are forgotten, is of no use.
        let Some(first) = self.slot(parity.first) else { return };
        let window = first..first + usize::from(parity.count);
        if self.sources.range(window.clone()).all(Option::is_some) {
            return;
        }
        let mut factors = vec![0; window.len()];
        self.sum.begin(symbol.len());
        self.sum.add(1, 0, symbol);
        for (index, source) in self.sources.range(window).enumerate() {
            let factor = coefficient(parity.row, parity.first + index as u32);
            match source {
                None => factors[index] = factor,
                Some(known) if known.len() > symbol.len() => {
                    self.contradictions += 1;
                    return;
                }
                Some(known) => {
                    self.sum.add(factor, 0, &known.head);
                    self.sum.add(factor, SYMBOL_HEAD_BYTES, &known.payload);
                }
            }
        }
        let symbol = self.sum.finish().to_vec();
        self.add_equation(Equation { pivot: parity.first, factors, symbol });
        self.take_solved();
    }

    /// Symbols and equations that are kept.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.sources.len(), self.equations.len())
    }

    /// Where symbol `source` stands, if it is among those that are remembered.
    fn slot(&self, source: u32) -> Option<usize> {
        let slot = (u64::from(source) + SOURCES_KEPT as u64).checked_sub(self.end)? as usize;
        (slot < self.sources.len()).then_some(slot)
    }

    /// Makes room for symbols up to `last`, and forgets those that are too old.
    fn advance(&mut self, last: u32) {
        let end = u64::from(last) + 1;
        let Some(step) = end.checked_sub(self.end).filter(|step| *step > 0) else { return };
        if self.sources.is_empty() || step >= SOURCES_KEPT as u64 {
            self.limit_hits += u64::from(!self.sources.is_empty());
            self.sources.clear();
            self.sources.resize(SOURCES_KEPT, None);
            self.equations.clear();
        } else {
            for _ in 0..step {
                self.sources.pop_front();
                self.sources.push_back(None);
            }
        }
        self.end = end;
        // What is about a symbol that is given up cannot be solved; the pivot is the oldest of each.
        let oldest = end.saturating_sub(SOURCES_KEPT as u64);
        self.equations.retain(|equation| u64::from(equation.pivot) >= oldest);
    }

    /// Symbol `source` has become known and was taken out of every equation. The one whose pivot it was,
    /// if there is one, gets another.
    fn restore_form(&mut self, source: u32) {
        for equation in &mut self.equations {
            equation.trim_end();
        }
        if let Ok(index) = self.equations.binary_search_by_key(&source, |equation| equation.pivot) {
            let equation = self.equations.remove(index);
            self.add_equation(equation);
        }
    }

    /// Adds an equation over missing symbols, keeping the reduced form. One that says nothing new is
    /// dropped.
    fn add_equation(&mut self, mut equation: Equation) {
        for other in &self.equations {
            let factor = equation.factor(other.pivot);
            if factor != 0 {
                equation.add_multiple(factor, other);
            }
        }
        if !equation.normalise() {
            self.contradictions += u64::from(equation.symbol.iter().any(|byte| *byte != 0));
            return;
        }
        if self.equations.len() >= EQUATIONS_MAX {
            self.limit_hits += 1;
            self.equations.remove(0);
        }
        for other in &mut self.equations {
            let factor = other.factor(equation.pivot);
            if factor != 0 {
                other.add_multiple(factor, &equation);
                other.trim_end();
            }
        }
        let place = self.equations.partition_point(|other| other.pivot < equation.pivot);
        self.equations.insert(place, equation);
    }

    /// Takes out the equations that have only their pivot left: those symbols are recovered.
    fn take_solved(&mut self) {
        let mut index = 0;
        while let Some(equation) = self.equations.get(index) {
            if equation.factors.len() > 1 {
                index += 1;
                continue;
            }
            let Equation { pivot, symbol, .. } = self.equations.remove(index);
            let symbol = Bytes::from(symbol);
            let Some(header) = VideoHeader::from_symbol(pivot, &symbol) else {
                self.contradictions += 1;
                continue;
            };
            let payload = symbol.slice(SYMBOL_HEAD_BYTES..SYMBOL_HEAD_BYTES + header.payload_bytes());
            if let Some(slot) = self.slot(pivot) {
                self.sources[slot] = Some(Known { head: header.symbol_head(), payload: payload.clone() });
            }
            self.recovered.push_back((header, payload));
        }
    }
}

impl Known {
    fn len(&self) -> usize {
        SYMBOL_HEAD_BYTES + self.payload.len()
    }
}

impl Equation {
    fn factor(&self, source: u32) -> u8 {
        let index = source.checked_sub(self.pivot).map(|index| index as usize);
        index.and_then(|index| self.factors.get(index)).copied().unwrap_or(0)
    }

    /// The factor of a symbol that becomes known, which leaves the equation.
    fn take_factor(&mut self, source: u32) -> Option<u8> {
        let index = source.checked_sub(self.pivot)? as usize;
        let factor = std::mem::take(self.factors.get_mut(index)?);
        (factor != 0).then_some(factor)
    }

    /// Takes a known symbol out of the sum; false if the sum is too short to have it.
    fn subtract(&mut self, factor: u8, known: &Known) -> bool {
        let fits = known.len() <= self.symbol.len();
        if fits {
            gf256::add_multiple(&mut self.symbol, factor, &known.head);
            gf256::add_multiple(&mut self.symbol[SYMBOL_HEAD_BYTES..], factor, &known.payload);
        }
        fits
    }

    /// Adds a multiple of an equation whose pivot is not before this one's.
    fn add_multiple(&mut self, factor: u8, other: &Self) {
        let at = (other.pivot - self.pivot) as usize;
        let length = self.factors.len().max(at + other.factors.len());
        self.factors.resize(length, 0);
        gf256::add_multiple(&mut self.factors[at..], factor, &other.factors);
        if self.symbol.len() < other.symbol.len() {
            self.symbol.resize(other.symbol.len(), 0);
        }
        gf256::add_multiple(&mut self.symbol, factor, &other.symbol);
    }

    /// Makes the first missing symbol the pivot, with factor 1; false if there is none.
    fn normalise(&mut self) -> bool {
        let Some(zeros) = self.factors.iter().position(|factor| *factor != 0) else { return false };
        self.factors.drain(..zeros);
        self.pivot += zeros as u32;
        self.trim_end();
        let factor = gf256::inverse(self.factors[0]);
        gf256::scale(&mut self.factors, factor);
        gf256::scale(&mut self.symbol, factor);
        true
    }

    fn trim_end(&mut self) {
        while self.factors.last() == Some(&0) {
            self.factors.pop();
        }
    }
}

/// Source symbols that are remembered: three of the widest windows, over a second of the default workload.
pub(super) const SOURCES_KEPT: usize = 384;
/// Equations kept: as many as the widest window has symbols. Each is a packet of bytes.
pub(super) const EQUATIONS_MAX: usize = 128;
