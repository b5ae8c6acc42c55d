//! Four-vectors of collections: mass, momentum and direction of objects and of their sums.
//!
//! Components are made of the stored objects and picked afterwards, so that trigonometry is done once per object and
//! not once per combination.

use std::sync::Arc;

use super::bound::{Bound, Op, loop_of, of_values};
use super::collection::{Base, Collection};
use super::function::Function;
use super::names::Kernel;
use super::number::Wide;
use super::syntax::Binary;
use crate::error::Result;

/// A quantity of a four-vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Pt,
    Eta,
    Phi,
    Mass,
    Energy,
    Px,
    Py,
    Pz,
}

/// Finds the member of stored objects that a name means.
pub(super) type Member<'m> = &'m mut dyn FnMut(&Base, &str) -> Result<Option<Bound>>;

impl Quantity {
    /// The quantity that a function of a name computes.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "pt" => Self::Pt,
            "eta" => Self::Eta,
            "phi" => Self::Phi,
            "mass" => Self::Mass,
            "energy" => Self::Energy,
            _ => return None,
        })
    }

    /// The names that a member with it may have.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Pt => &["pt"],
            Self::Eta => &["eta"],
            Self::Phi => &["phi"],
            Self::Mass => &["mass"],
            Self::Energy => &["energy", "E"],
            Self::Px => &["px"],
            Self::Py => &["py"],
            Self::Pz => &["pz"],
        }
    }

    /// The members that it can be computed from.
    pub(super) fn needs(self) -> &'static str {
        match self {
            Self::Pt => "pt, or px and py",
            Self::Phi => "phi, or px and py",
            Self::Eta => "eta, or px, py and pz",
            Self::Px | Self::Py => "pt and phi, or px and py",
            Self::Pz => "pt and eta, or pz",
            Self::Mass => "mass, or px, py, pz and energy (or E)",
            Self::Energy => "pt, eta and mass, or energy (or E)",
        }
    }

    /// Its value for each of some stored objects: a member, or computed from others.
    fn of_objects(self, base: &Base, member: Member<'_>) -> Result<Option<Bound>> {
        let stored = |of: Self, member: Member<'_>| -> Result<Option<Bound>> {
            for name in of.names() {
                if let Some(found) = member(base, name)? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        };
        let mut all = |of: &[Self]| of.iter().map(|of| stored(*of, member)).collect::<Result<Option<Vec<_>>>>();
        let (from, kernel): (&[Self], _) = match self {
            Self::Px => (&[Self::Pt, Self::Phi], Kernel::Two(|pt, phi| pt * phi.cos())),
            Self::Py => (&[Self::Pt, Self::Phi], Kernel::Two(|pt, phi| pt * phi.sin())),
            Self::Pz => (&[Self::Pt, Self::Eta], Kernel::Two(|pt, eta| pt * eta.sinh())),
            Self::Energy => (&[Self::Pt, Self::Eta, Self::Mass], Kernel::Many(energy, 3, &[])),
            _ => {
                if let Some(mut found) = all(&[self])? {
                    return Ok(found.pop());
                }
                let from = self.components();
                return Ok(all(from)?.map(|of| self.of_components(of)));
            }
        };
        if let Some(of) = all(from)? {
            return Ok(Some(call(kernel, of)));
        }
        Ok(all(&[self])?.and_then(|mut found| found.pop()))
    }

    /// The components that it is computed from.
    fn components(self) -> &'static [Self] {
        match self {
            Self::Pt | Self::Phi => &[Self::Px, Self::Py],
            Self::Eta => &[Self::Px, Self::Py, Self::Pz],
            Self::Mass => &[Self::Px, Self::Py, Self::Pz, Self::Energy],
            Self::Energy => &[Self::Energy],
            Self::Px => &[Self::Px],
            Self::Py => &[Self::Py],
            Self::Pz => &[Self::Pz],
        }
    }

    /// Its value of components.
    fn of_components(self, mut of: Vec<Bound>) -> Bound {
        let kernel = match self {
            Self::Pt => Kernel::Two(|px, py| (px * px + py * py).sqrt()),
            Self::Phi => Kernel::Two(|px, py| py.atan2(px)),
            Self::Eta => Kernel::Many(eta, 3, &[]),
            Self::Mass => Kernel::Many(mass, 4, &[]),
            // The component itself.
            Self::Energy | Self::Px | Self::Py | Self::Pz => match of.pop() {
                Some(one) => return one,
                None => Kernel::Constant(f64::NAN),
            },
        };
        call(kernel, of)
    }

    /// Its value for the sum of one object of each collection. An error of `lacks` names members that are missing.
    pub(super) fn of(
        self,
        of: &[Arc<Collection>],
        at: usize,
        member: Member<'_>,
        lacks: &dyn Fn(&Base, Self) -> crate::Error,
    ) -> Result<Bound> {
        if let [one] = of
            && !one.is_tuple()
        {
            return self.component(one, at, member, lacks);
        }
        let mut components = Vec::new();
        for component in self.components() {
            let values = of.iter().map(|of| component.component(of, at, member, lacks)).collect::<Result<Vec<_>>>()?;
            components.extend(values.into_iter().reduce(sum));
        }
        Ok(self.of_components(components))
    }

    /// Its value for each object of a collection, summed for pairs and triples.
    fn component(
        self,
        of: &Arc<Collection>,
        at: usize,
        member: Member<'_>,
        lacks: &dyn Fn(&Base, Self) -> crate::Error,
    ) -> Result<Bound> {
        of.lift(at, &mut |of| match &**of {
            Collection::Base(base) => self.of_objects(base, member)?.map(Some).ok_or_else(|| lacks(base, self)),
            Collection::Tuple(tuple) => {
                let values = tuple.of.iter().map(|of| self.component(of, at, member, lacks));
                Ok(Some(tuple.sum(values.collect::<Result<_>>()?)))
            }
            _ => Ok(None),
        })
    }
}

/// The distance in eta and phi.
pub(super) fn delta_r(eta: [Bound; 2], phi: [Bound; 2]) -> Bound {
    let [[eta1, eta2], [phi1, phi2]] = [eta, phi];
    call(Kernel::Many(super::names::delta_r, 4, &[std::f64::consts::PI]), vec![eta1, eta2, phi1, phi2])
}

/// The second angle minus the first, between minus pi and pi.
pub(super) fn delta_phi(phi: [Bound; 2]) -> Bound {
    call(Kernel::Many(super::names::delta_phi, 2, &[std::f64::consts::PI]), phi.into())
}

fn call(kernel: Kernel, of: Vec<Bound>) -> Bound {
    let values: Vec<&Bound> = of.iter().collect();
    let (depth, in_loop) = loop_of(&values);
    let kind = of_values(Wide::F64, &values);
    let at = of.first().map_or(0, |of| of.at);
    Bound { op: Op::Call(Function { kernel, name: "of a vector" }, of), at, depth, of: kind, in_loop }
}

fn sum(a: Bound, b: Bound) -> Bound {
    let (depth, in_loop) = loop_of(&[&a, &b]);
    let at = a.at;
    let kind = of_values(Wide::F64, &[&a, &b]);
    Bound { op: Op::Binary(Binary::Add, Box::new(a), Box::new(b)), at, depth, of: kind, in_loop }
}

/// The energy of pt, eta and mass. A negative mass has a negative square (`ROOT::Math::PtEtaPhiM4D`).
fn energy(of: &[f64]) -> f64 {
    let [pt, eta, mass] = *of else { return f64::NAN };
    let p = pt * eta.cosh();
    let squared = p * p + mass * mass.abs();
    // NaN stays.
    if squared < 0.0 { 0.0 } else { squared.sqrt() }
}

fn eta(of: &[f64]) -> f64 {
    let [px, py, pz] = *of else { return f64::NAN };
    let pt = (px * px + py * py).sqrt();
    if pt == 0.0 && pz == 0.0 { 0.0 } else { (pz / pt).asinh() }
}

/// The invariant mass, negative if its square is (`ROOT::Math::LorentzVector::M`).
fn mass(of: &[f64]) -> f64 {
    let [px, py, pz, energy] = *of else { return f64::NAN };
    let squared = energy * energy - px * px - py * py - pz * pz;
    if squared < 0.0 { -(-squared).sqrt() } else { squared.sqrt() }
}
