//! From what is wanted of frames to a graph over one source.

use std::collections::HashMap;

use super::accumulator::{Accumulator, Role, Side, Varied};
use super::node::{Frame, Node, Variation, What};
use super::wanted::{Axes, HistogramOf, Kind, Wanted};
use crate::error::{Error, Result};
use crate::hist::SparseFill;
use crate::query::{Bins, Builder, Filling, Scope, Spot, Target, ValueId, Want};

/// The variation that something is computed for: the node that has it, and its number there. None for what is as it is.
pub(super) type Chosen = Option<(usize, usize)>;

/// A frame in a graph.
#[derive(Clone)]
struct Compiled {
    scope: Scope,
    place: usize,
}

/// Puts what is wanted into a graph.
pub(super) struct Compiler<'b, 's> {
    builder: &'b mut Builder<'s>,
    /// Frames by the address of their node, and the variation.
    known: HashMap<(usize, Chosen), Compiled>,
    pub(super) spots: Spots,
    /// For each range of the graph the ranges of frames that it stands for.
    pub(super) ranges: Vec<Vec<RangeKey>>,
}

/// A range of a frame: the address of its node, and the variation.
pub(super) type RangeKey = (usize, Chosen);

/// Outputs of the graph that a result needs, each with its role.
pub(super) type Outputs = Vec<(usize, Role)>;

/// The measures of a node: as it is, and in each variation that reaches it.
#[derive(Debug, Default)]
pub(super) struct NodeSpots {
    pub(super) nominal: Option<Spot>,
    pub(super) variations: Vec<((usize, usize), Spot)>,
}

/// By the address of a node.
pub(super) type Spots = HashMap<usize, NodeSpots>;

/// The variations of a frame by name, the first ones first.
fn variations(frame: &Frame) -> Vec<(&str, Chosen)> {
    let mut nodes: Vec<&Node> = frame.nodes().filter(|node| node.variations().is_some()).collect();
    nodes.reverse();
    let of_node = |node: &'_ Node| {
        let all = node.variations().unwrap_or_default().len();
        (0..all).map(|number| Some((node.address(), number))).collect::<Vec<_>>()
    };
    let chosen = nodes.into_iter().flat_map(of_node);
    frame.variations().into_iter().zip(chosen).collect()
}

impl<'b, 's> Compiler<'b, 's> {
    pub(super) fn new(builder: &'b mut Builder<'s>) -> Self {
        Self { builder, known: HashMap::new(), spots: Spots::new(), ranges: Vec::new() }
    }

    /// The outputs of a result as it is, and of each variation that changes it.
    pub(super) fn wanted(&mut self, wanted: &Wanted) -> Result<Varied<Outputs>> {
        let nominal = self.outputs(wanted, None)?;
        let mut varied = Vec::new();
        for (name, chosen) in variations(&wanted.frame) {
            let outputs = self.outputs(wanted, chosen)?;
            if outputs != nominal {
                varied.push((name.to_owned(), outputs));
            }
        }
        Ok(Varied { nominal, variations: varied })
    }

    /// The result before it has taken anything.
    pub(super) fn accumulator(&mut self, wanted: &Wanted) -> Result<Accumulator> {
        Ok(match &wanted.kind {
            Kind::Histogram(of) => {
                let Compiled { scope, .. } = self.frame(&wanted.frame, None)?;
                let target = Box::new(self.target(of, &scope)?);
                Accumulator::Histogram { target, filling: Box::default() }
            }
            Kind::Sparse(of) => {
                let Axes::Given(axes) = &of.axes else {
                    return Err(Error::mismatch(format!("the sparse histogram of {} has no axes", of.of.join(", "))));
                };
                let made = SparseFill::new(axes.iter().cloned(), of.weight.is_some())?.named(&of.name, &of.title);
                Accumulator::Sparse(Box::new(made))
            }
            Kind::Count => Accumulator::Count(0),
            Kind::Statistics(_) => Accumulator::Statistics(super::Statistics::default()),
            Kind::Columns(_) => Accumulator::Columns,
            Kind::Report(weight) => {
                let names = wanted.frame.filters().into_iter().map(|(_, name)| name.to_owned()).collect();
                Accumulator::report(names, weight.is_some())
            }
        })
    }

    fn target(&mut self, of: &HistogramOf, scope: &Scope) -> Result<Target> {
        let ids = of.of.iter().map(|text| self.builder.value(scope, text)).collect::<Result<Vec<_>>>()?;
        let along = ids.into_iter().map(|id| self.builder.along(id)).collect::<Result<Vec<_>>>()?;
        let axes = of.of.len() - usize::from(of.is_profile);
        let default_bins = match axes {
            1 => 100,
            2 => 40,
            _ => 20,
        };
        let bins = match &of.axes {
            Axes::Automatic(count) => vec![Bins::Automatic(count.unwrap_or(default_bins)); axes],
            Axes::Given(axes) => axes.iter().cloned().map(Box::new).map(Bins::Fixed).collect(),
        };
        Ok(Target {
            name: of.name.clone(),
            title: of.title.clone(),
            is_profile: of.is_profile,
            is_weighted: of.weight.is_some(),
            bins,
            along,
            estimate: Filling::ESTIMATE,
        })
    }

    fn outputs(&mut self, wanted: &Wanted, chosen: Chosen) -> Result<Outputs> {
        let Compiled { scope, place } = self.frame(&wanted.frame, chosen)?;
        let one = |output: usize| vec![(output, Role::Values)];
        Ok(match &wanted.kind {
            Kind::Count => one(self.builder.output(place, Want::Count, &[], None)?),
            Kind::Histogram(of) | Kind::Sparse(of) => {
                let values = self.values(&scope, &of.of)?;
                let weight = of.weight.as_ref().map(|text| self.builder.value(&scope, text)).transpose()?;
                one(self.builder.output(place, Want::Points, &values, weight)?)
            }
            Kind::Statistics(text) => {
                let value = self.builder.value(&scope, text)?;
                one(self.builder.output(place, Want::Statistics, &[value], None)?)
            }
            Kind::Columns(texts) => {
                let values = self.values(&scope, texts)?;
                one(self.builder.output(place, Want::Columns, &values, None)?)
            }
            Kind::Report(weight) => self.report(&wanted.frame, weight.as_deref(), &scope, chosen)?,
        })
    }

    fn values(&mut self, scope: &Scope, texts: &[String]) -> Result<Vec<ValueId>> {
        texts.iter().map(|text| self.builder.value(scope, text)).collect()
    }

    fn report(&mut self, frame: &Frame, weight: Option<&str>, scope: &Scope, chosen: Chosen) -> Result<Outputs> {
        let weight = weight.map(|text| self.builder.value(scope, text)).transpose()?;
        let mut outputs = Vec::new();
        for (number, (filter, _)) in frame.filters().into_iter().enumerate() {
            for (frame, side) in [(filter.before(), Side::Met), (filter, Side::Passed)] {
                let place = self.frame(&frame, chosen)?.place;
                outputs.push((self.builder.output(place, Want::Count, &[], None)?, Role::Cut(number, side)));
                if let Some(weight) = weight {
                    let output = self.builder.output(place, Want::Points, &[weight], None)?;
                    outputs.push((output, Role::CutWeights(number, side)));
                }
            }
        }
        Ok(outputs)
    }

    /// A frame with one of its variations.
    fn frame(&mut self, frame: &Frame, chosen: Chosen) -> Result<Compiled> {
        // Frames above a variation are the same for all of them.
        let has_chosen = |node: &Node| chosen.is_some_and(|(of, _)| of == node.address());
        let nodes: Vec<&Node> = frame.nodes().collect();
        let begins = nodes.iter().position(|node| has_chosen(node));
        let mut compiled = Compiled { scope: Scope::default(), place: 0 };
        for (place, node) in nodes.iter().enumerate().rev() {
            let chosen = chosen.filter(|_| begins.is_some_and(|begins| place <= begins));
            let key = (node.address(), chosen);
            compiled = match self.known.get(&key) {
                Some(known) => known.clone(),
                None => self.on_top(compiled, node, chosen)?,
            };
            self.known.insert(key, compiled.clone());
        }
        Ok(compiled)
    }

    /// Notes what is measured of a node.
    fn note(&mut self, node: &Node, chosen: Chosen, spot: Option<Spot>) {
        let of_node = self.spots.entry(node.address()).or_default();
        match chosen {
            None => of_node.nominal = spot,
            Some(chosen) => of_node.variations.extend(spot.map(|spot| (chosen, spot))),
        }
    }

    fn on_top(&mut self, below: Compiled, node: &Node, chosen: Chosen) -> Result<Compiled> {
        let Compiled { scope, place } = below;
        Ok(match &node.what {
            What::Define { name, text, is_again } => {
                self.builder.check_name(&scope, name, *is_again)?;
                let scope = scope.with(name, text);
                let spot = self.builder.bind_definition(&scope, name)?;
                self.note(node, chosen, spot);
                Compiled { scope, place }
            }
            What::Compute { name, inputs, function, is_again } => {
                self.builder.check_name(&scope, name, *is_again)?;
                let number = self.builder.computed(place, &scope, name, inputs, function)?;
                self.note(node, chosen, Some(Spot::Function(number)));
                Compiled { scope: scope.with_computed(name, number), place }
            }
            What::Filter { text, .. } => {
                let place = self.builder.filter(place, &scope, text)?;
                self.note(node, chosen, Some(Spot::Place(place)));
                Compiled { scope, place }
            }
            What::Range(positions) => {
                let (number, place) = self.builder.range(place, *positions);
                self.ranges.resize_with(self.ranges.len().max(number + 1), Vec::new);
                self.ranges[number].push((node.address(), chosen));
                self.note(node, chosen, Some(Spot::Place(place)));
                Compiled { scope, place }
            }
            What::Vary(variations) => {
                for Variation { of, .. } in variations {
                    of.iter().try_for_each(|(name, _)| self.builder.check_name(&scope, name, true))?;
                }
                let varied = chosen.filter(|(of, _)| *of == node.address());
                let of = varied.and_then(|(_, number)| variations.get(number)).map(|variation| &variation.of);
                // Each sees the columns as they are.
                let above = |above: Scope, (name, text): &(String, String)| above.with_seeing(name, text, &scope);
                let varied = of.into_iter().flatten().fold(scope.clone(), above);
                Compiled { scope: varied, place }
            }
        })
    }
}
