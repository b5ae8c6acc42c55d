//! From a class as the file describes it to a program.

mod containers;
mod elements;

use std::collections::HashMap;
use std::sync::Arc;

use super::info::{BARE, StreamerInfo};
use super::program::{Body, Custom, MOST_RUN_BYTES, Program, Role, RunField, Span, Step, Target, TextForm, Versions};
use super::registry::Registry;
use super::streamers;
use super::typename::TypeName;
use super::versions::Fit;
use crate::column::{BufferId, BufferKind, Field, Kind, Number, Prim};
use crate::error::{Error, Result};

impl Registry {
    /// The compiled program of a target; compiled once.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) naming the class that the file does not describe.
    #[doc(hidden)]
    pub fn program(&self, target: &Target) -> Result<Arc<Program>> {
        if let Some(program) = self.compiled(target) {
            return Ok(program);
        }
        let program = Arc::new(compile(target, self)?);
        self.keep(target, &program);
        Ok(program)
    }
}

/// Compiles a target.
fn compile(target: &Target, registry: &Registry) -> Result<Program> {
    let mut compiler = Compiler {
        registry,
        steps: Vec::new(),
        buffers: Vec::new(),
        stack: Vec::new(),
        old_branch: false,
        depth: 0,
        classes: 0,
    };
    let (steps, kind) = match target {
        Target::Members { class, version, checksum } => {
            let info = registry
                .info(class, *version, *checksum)
                .ok_or_else(|| Error::unsupported(format!("the file does not describe class {class}")))?;
            compiler.members(&Arc::clone(info))?
        }
        Target::Member { class, version, checksum, index } => {
            let info = registry
                .info(class, Some(*version), Some(*checksum))
                .ok_or_else(|| Error::unsupported(format!("the file does not describe class {class}")))?;
            let element = info.elements.get(*index).ok_or_else(|| {
                Error::malformed(format!("class {class} has no such member"))
                    .wanted(info.elements.len() as u64, *index as u64)
            })?;
            compiler.stack.push(Arc::clone(&info.name));
            let (steps, field) = compiler.element(element, &mut Scope::outside())?;
            (steps, field.map_or_else(|| Kind::Record { class: "".into(), fields: Vec::new() }, |field| field.kind))
        }
        Target::Bare { name } => match TypeName::parse(name)? {
            TypeName::Pair(first, second) => compiler.pair_members(&first, &second)?,
            other => compiler.bare(&other, 0)?,
        },
        Target::Value { name } => match TypeName::parse(name)? {
            // A string that is a whole object has no frame.
            TypeName::StdString => compiler.bare(&TypeName::StdString, 0)?,
            other => compiler.member(&other, 0)?,
        },
    };
    let root = compiler.seal(steps);
    Ok(Program { steps: compiler.steps, root, kind, buffers: compiler.buffers })
}

type Compiled = (Vec<Step>, Kind);

/// Members that later members of the same object may name as their counter.
#[derive(Default)]
struct Scope {
    counters: HashMap<Arc<str>, (BufferId, Number)>,
    outside: bool,
}

impl Scope {
    /// A member alone: its counter, if it has one, is another branch.
    fn outside() -> Self {
        Self { counters: HashMap::new(), outside: true }
    }
}

struct Compiler<'r> {
    registry: &'r Registry,
    steps: Vec<Step>,
    buffers: Vec<BufferKind>,
    /// Classes being compiled, outermost first.
    stack: Vec<Arc<str>>,
    /// Whether the members are those of a `TBranch` that was still streamed by hand.
    old_branch: bool,
    /// Classes and containers around what is being compiled.
    depth: usize,
    /// Classes compiled so far, also those that were thrown away.
    classes: usize,
}

/// Version of a class without a dictionary of its own: the file gives 0 and a checksum.
const FOREIGN: i32 = -1;
/// Version of no object.
const NO_VERSION: i32 = i32::MIN;
const DEEPEST: usize = 96;
const MOST_STEPS: usize = 1 << 18;
const MOST_CLASSES: usize = 1 << 16;

impl Compiler<'_> {
    fn buffer(&mut self, kind: BufferKind) -> BufferId {
        self.buffers.push(kind);
        (self.buffers.len() - 1) as BufferId
    }

    fn seal(&mut self, steps: Vec<Step>) -> Span {
        let start = self.steps.len() as u32;
        self.steps.extend(regroup(steps));
        Span { start, end: self.steps.len() as u32 }
    }

    fn run(&mut self, prim: Prim, count: u32) -> Result<(Step, Kind)> {
        let buffer = self.buffer(BufferKind::Numbers(prim.number()));
        Ok((Step::numbers(prim, count as usize, buffer)?, Kind::Number { buffer, number: prim.number() }))
    }

    fn text(&mut self, form: TextForm) -> (Step, Kind) {
        let offsets = self.buffer(BufferKind::Ends);
        let bytes = self.buffer(BufferKind::Bytes);
        (Step::Text { form, ends: offsets, bytes }, Kind::Text { offsets, bytes })
    }

    fn opaque(&mut self, class: &str) -> (Step, Kind) {
        let offsets = self.buffer(BufferKind::Ends);
        let bytes = self.buffer(BufferKind::Bytes);
        (Step::Opaque { ends: offsets, bytes, shared: false }, Kind::Opaque { offsets, bytes, class: class.into() })
    }

    fn pointer(&mut self, class: &str) -> (Step, Kind) {
        let buffer = self.buffer(BufferKind::Objects);
        (Step::Pointer { buffer }, Kind::Pointer { buffer, class: class.trim_end_matches('*').into() })
    }

    /// All members of a class, as a record.
    fn members(&mut self, info: &Arc<StreamerInfo>) -> Result<Compiled> {
        let mut scope = Scope::default();
        self.members_in(info, &mut scope)
    }

    fn members_in(&mut self, info: &Arc<StreamerInfo>, scope: &mut Scope) -> Result<Compiled> {
        self.classes += 1;
        if self.steps.len() >= MOST_STEPS || self.classes >= MOST_CLASSES {
            return Err(Error::limit("a class has too many parts", MOST_CLASSES as u64, self.classes as u64));
        }
        self.enter()?;
        self.stack.push(Arc::clone(&info.name));
        self.old_branch = &*info.name == "TBranch" && info.version < 10;
        let (mut steps, mut fields) = (Vec::new(), Vec::new());
        for element in &info.elements {
            let old_branch = self.old_branch;
            let (more, field) = self.element(element, scope).map_err(|error| error.in_object(&element.name))?;
            self.old_branch = old_branch;
            steps.extend(more);
            fields.extend(field);
        }
        self.stack.pop();
        self.depth -= 1;
        Ok((steps, Kind::Record { class: Arc::clone(&info.name), fields }))
    }

    /// Counts one level of nesting.
    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::limit("a class nests too deep", DEEPEST as u64, self.depth as u64));
        }
        Ok(())
    }

    /// A class by value, framed as its streamer frames it.
    fn class_value(&mut self, class: &str, role: Role) -> Result<Compiled> {
        match class {
            "TString" => {
                let (step, kind) = self.text(TextForm::Counted);
                return Ok((vec![step], kind));
            }
            "TObject" => return Ok(self.tobject()),
            // A string that is a whole object has no frame.
            "string" | "std::string" => {
                let (step, kind) = self.text(TextForm::Counted);
                return Ok((vec![step], kind));
            }
            _ => {}
        }
        if let Some(which) = streamers::which(class) {
            return self.custom(which, class);
        }
        if self.stack.iter().any(|outer| &**outer == class) {
            let buffer = self.buffer(BufferKind::Objects);
            let step = Step::Boxed { buffer, class: class.into() };
            return Ok((vec![step], Kind::Pointer { buffer, class: class.into() }));
        }
        let spelled = self.spelled(class);
        if *spelled != *class {
            return self.class_value(&spelled, role);
        }
        let Some(info) = self.registry.info(class, None, None).cloned() else {
            return match TypeName::parse(class)? {
                TypeName::Class(_) => {
                    let (step, kind) = self.opaque(class);
                    Ok((vec![step], kind))
                }
                other => self.member(&other, 0),
            };
        };
        let (steps, kind) = self.members(&info)?;
        if streamers::forwards(class) {
            return Ok((steps, kind));
        }
        let versions = self.versions(class, &info, steps, &kind)?;
        Ok((vec![Step::Class { versions, role }], kind))
    }

    /// All versions of a class, of which one has these steps and columns.
    fn versions(&mut self, class: &str, info: &Arc<StreamerInfo>, steps: Vec<Step>, kind: &Kind) -> Result<Versions> {
        let span = self.seal(steps);
        let mut versions = self.one_version(info, span);
        let others: Vec<_> = self.registry.versions(class).iter().filter(|other| ***other != **info).cloned().collect();
        for other in others {
            // Where its columns cannot be these: a body that no object names, so that the one that is left is not taken
            // for all versions.
            let body = self.other_version(&other, kind, other.version == info.version)?.unwrap_or(Body {
                version: NO_VERSION,
                checksum: 0,
                span,
            });
            versions.bodies = [&*versions.bodies, &[body]].concat().into();
        }
        Ok(versions)
    }

    /// A further version of a class whose columns exist already. Members that it has not become zero or empty; members
    /// that only it has are decoded into scratch buffers; numbers of another type are converted.
    fn other_version(&mut self, info: &Arc<StreamerInfo>, kind: &Kind, tie: bool) -> Result<Option<Body>> {
        let (from, mark) = (self.steps.len(), self.buffers.len());
        let (mut steps, theirs) = self.members(info)?;
        let Some(fit) = Fit::new(&theirs, kind, tie) else {
            self.steps.truncate(from);
            self.buffers.truncate(mark);
            return Ok(None);
        };
        steps.extend(fit.steps);
        let span = self.seal(steps);
        for step in &mut self.steps[from..] {
            step.rename(&fit.same);
        }
        Ok(Some(Body { version: info.version, checksum: info.checksum, span }))
    }

    fn custom(&mut self, which: Custom, class: &str) -> Result<Compiled> {
        let mut buffers = Vec::new();
        let kind = streamers::kind(which, class, &mut |kind| {
            let id = self.buffer(kind);
            buffers.push(id);
            id
        });
        let mut steps = Vec::new();
        let kind = if let Custom::MatrixSym(_) = which {
            // Its own streamer writes the base as the base is described, and the upper triangle behind.
            let base = class.replacen("TMatrixTSym", "TMatrixTBase", 1);
            let info = self
                .registry
                .info(&base, None, None)
                .cloned()
                .or_else(|| self.registry.info(class, None, None).cloned());
            let (base_steps, base_kind) = match info {
                Some(info) => {
                    let (steps, kind) = self.members(&info)?;
                    let span = self.seal(steps);
                    let versions = self.one_version(&info, span);
                    (vec![Step::Class { versions, role: Role::Member }], kind)
                }
                None => return Err(Error::unsupported(format!("the file does not describe class {base}"))),
            };
            let rows =
                base_kind.members().into_iter().find(|(name, _)| &***name == "fNrows").map(|(_, kind)| kind.clone());
            if let Some(Kind::Number { buffer, .. }) = rows {
                buffers.push(buffer);
            }
            steps.extend(base_steps);
            let Kind::Record { class, mut fields } = kind else {
                return Err(Error::unsupported("a matrix has members"));
            };
            fields.insert(0, Field { name: base.into(), kind: base_kind, base: true });
            Kind::Record { class, fields }
        } else {
            kind
        };
        steps.push(Step::Custom { which, buffers: buffers.into() });
        Ok((steps, kind))
    }
}

fn pair_record(first: Kind, second: Kind) -> Kind {
    let field = |name: &str, kind| Field { name: name.into(), kind, base: false };
    Kind::Record { class: "pair".into(), fields: vec![field("first", first), field("second", second)] }
}

/// Joins neighbouring runs into one.
pub(crate) fn regroup(steps: Vec<Step>) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        if let Step::Run { fields: more, bytes: more_bytes } = &step
            && let Some(Step::Run { fields, bytes }) = out.last_mut()
            && *bytes <= MOST_RUN_BYTES - *more_bytes
        {
            let shifted = more.iter().map(|field| RunField { at: field.at + *bytes, ..*field });
            *fields = fields.iter().copied().chain(shifted).collect();
            *bytes += more_bytes;
        } else {
            out.push(step);
        }
    }
    out
}
