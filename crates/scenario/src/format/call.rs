//! `CommandLists:` calls by their Direct3D names with named arguments.
//!
//! One table lists every call with its parameters as their pages spell them; the
//! reader, its error messages and the runner all go by it. A call is written as
//!
//! ```yaml
//! - DispatchX: {ThreadGroupCountX: 4, ThreadGroupCountY: 1, ThreadGroupCountZ: 1, Flags: W32}
//! - Dispatch: [4, 1, 1]      # the parameters in order
//! - SetPipelineState: Blur   # the only, or first, parameter
//! - EndEvent                 # none
//! ```

use crate::expr::Expr;
use crate::node::{Key, Node, Value};
use crate::problem::{Problem, Span};
use crate::reader::{At, Reader, unknown};
use wavefence_d3d::Undrawn;

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// An integer or address by expression.
    Number,
    /// One or several of them.
    Numbers,
    /// Flags or an enumeration value by name, `A | B`.
    Flags,
    /// The name of something in this scenario, or free text.
    Text,
}

/// One parameter of a call.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name as its page spells it.
    pub name: &'static str,
    /// What it is.
    pub kind: ParamKind,
    /// True if it must be given.
    pub required: bool,
}

/// One argument as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// For [`ParamKind::Number`].
    Number(Expr),
    /// For [`ParamKind::Numbers`].
    Numbers(Vec<Expr>),
    /// For [`ParamKind::Flags`] and [`ParamKind::Text`].
    Text(At<String>),
}

macro_rules! calls {
    ($($kind:ident ( $($param:ident : $pk:ident $req:ident),* ) ;)*) => {
        /// Every call a list may hold.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the API's own names")]
        pub enum CallKind { $($kind),* }

        impl CallKind {
            /// Every call.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// The call as Direct3D spells it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind)),* }
            }

            /// Its parameters in order.
            pub const fn params(self) -> &'static [Param] {
                match self { $(Self::$kind => &[$(Param {
                    name: stringify!($param),
                    kind: ParamKind::$pk,
                    required: calls!(@$req),
                }),*]),* }
            }
        }
    };
    (@req) => { true };
    (@opt) => { false };
}

calls! {
    SetPipelineState(PipelineState: Text req);
    SetComputeRootDescriptorTable(DescriptorSet: Text req);
    SetComputeRoot32BitConstants(Register: Number req, Values: Numbers req, Space: Number opt);
    SetComputeRootSignature();
    SetComputeStartX(X: Number req, Y: Number req, Z: Number req);
    Dispatch(ThreadGroupCountX: Number req, ThreadGroupCountY: Number req, ThreadGroupCountZ: Number req);
    DispatchX(ThreadGroupCountX: Number req, ThreadGroupCountY: Number req, ThreadGroupCountZ: Number req, Flags: Flags opt);
    ExecuteIndirect(ArgumentBuffer: Text req, ArgumentBufferOffset: Number opt, MaxCommandCount: Number opt, ByteStride: Number opt, CountBuffer: Text opt, CountBufferOffset: Number opt);
    CopyBufferRegion(DstBuffer: Text req, DstOffset: Number req, SrcBuffer: Text req, SrcOffset: Number req, NumBytes: Number req);
    CopyResource(DstResource: Text req, SrcResource: Text req);
    CopyTextureRegion(DstResource: Text req, DstX: Number req, DstY: Number req, SrcResource: Text req, SrcBox: Numbers opt);
    CopyMemoryToMemoryX(Destination: Number req, Source: Number req, NumBytes: Number req);
    FillMemoryWith32BitValueX(Destination: Number req, NumBytes: Number req, Value: Number req);
    FillMemoryWith64BitValueX(Destination: Number req, NumBytes: Number req, Value: Number req);
    ResourceBarrier(Resource: Text opt, StateBefore: Flags opt, StateAfter: Flags opt, Type: Flags opt);
    FlushPipelineX(Flush: Flags req, Base: Number opt, Size: Number opt);
    Write32BitValueBottomOfPipeX(Destination: Number req, Value: Number req, Flush: Flags opt, Flags: Flags opt);
    Write64BitValueBottomOfPipeX(Destination: Number req, Value: Number req, Flush: Flags opt, Flags: Flags opt);
    Write32BitValueTopOfPipeX(Destination: Number req, Value: Number req);
    Write64BitValueTopOfPipeX(Destination: Number req, Value: Number req);
    Write32BitValueBottomOfShaderX(Destination: Number req, Value: Number req);
    Wait32BitValueX(Address: Number req, Function: Flags req, Reference: Number req, Flags: Flags opt);
    Wait64BitValueX(Address: Number req, Function: Flags req, Reference: Number req, Flags: Flags opt);
    SetupOrderedAppendCounterX(Counter: Number req, Value: Number opt);
    WriteGDSX(Offset: Number req, Data: Numbers req);
    ReadGDSX(Destination: Number req, Offset: Number req, NumDwords: Number req);
    BeginEvent(Name: Text req, Color: Number opt);
    EndEvent();
    SetMarker(Name: Text req, Color: Number opt);
    InsertPacketsX(Words: Numbers req);
    CSSetShader(ComputeShader: Text req);
    CSSetShaderResources(DescriptorSet: Text req);
    CSSetUnorderedAccessViews(DescriptorSet: Text req);
    CSSetConstantBuffers(DescriptorSet: Text req);
    CSSetSamplers(DescriptorSet: Text req);
    ClearState();
    DispatchIndirect(ArgumentBuffer: Text req, ArgumentBufferOffset: Number opt);
    CopySubresourceRegion(DstResource: Text req, DstX: Number req, SrcResource: Text req, SrcBox: Numbers req);
    FlushGpuCacheRange(Flags: Flags req, BaseAddress: Number opt, SizeInBytes: Number opt);
    FlushGpuCaches(Resource: Text req);
    FlushGpuCachesTopOfPipe(Flags: Flags req);
    FlushGpuCachesBottomOfPipe(Flags: Flags req);
    GpuSendPipelinedEvent(Event: Flags req);
    InsertWaitUntilIdle();
    InsertFence(Fence: Text req, Value: Number req);
    InsertWaitOnFence(Fence: Text req, Value: Number req);
    InsertWaitOnMemory(Address: Number req, Flags: Number req, ComparisonFunction: Flags req, Reference: Number req, Mask: Number req);
    WriteValueBottomOfPipe(Destination: Number req, Value: Number req);
    WriteTimestampToMemory(Destination: Number req);
    SetDispatchFlags(Flags: Flags req);
    PIXBeginEvent(Name: Text req, Color: Number opt);
    PIXEndEvent();
    PIXSetMarker(Name: Text req, Color: Number opt);
}

impl CallKind {
    /// True for D3D11.X's own names of what D3D12.X has too; its other calls are
    /// judged when they are recorded.
    pub const fn is_d3d11_name(self) -> bool {
        matches!(
            self,
            Self::CSSetShader
                | Self::CSSetShaderResources
                | Self::CSSetUnorderedAccessViews
                | Self::CSSetConstantBuffers
                | Self::CSSetSamplers
                | Self::ClearState
                | Self::DispatchIndirect
                | Self::CopySubresourceRegion
                | Self::PIXBeginEvent
                | Self::PIXEndEvent
                | Self::PIXSetMarker
        )
    }
}

/// One recorded call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which call.
    pub kind: CallKind,
    /// Where its name stands.
    pub at: Span,
    /// The argument of each parameter, in the table's order.
    pub args: Vec<Option<Arg>>,
    /// Where each argument stands.
    pub places: Vec<Span>,
}

impl Call {
    /// Index of a parameter of this call.
    fn index(&self, name: &str) -> Option<usize> {
        self.kind.params().iter().position(|p| p.name == name)
    }

    /// The argument of that parameter, if it was given.
    pub fn arg(&self, name: &str) -> Option<&Arg> {
        self.args.get(self.index(name)?)?.as_ref()
    }

    /// Where the argument of that parameter stands; the call if it was not given.
    pub fn place(&self, name: &str) -> Span {
        self.index(name).filter(|&i| self.args[i].is_some()).map_or(self.at, |i| self.places[i])
    }
}

/// Reads one call.
pub fn call(r: &Reader, node: &Node) -> Option<Call> {
    let (at, name, value) = match &node.value {
        Value::Scalar(name) => (node.at, name, None),
        Value::Map(entries) if entries.len() == 1 => {
            (entries[0].0.at, &entries[0].0.name, Some(&entries[0].1))
        }
        Value::Null | Value::List(_) | Value::Map(_) => {
            let problem =
                Problem::at(Span::new(node.at.start, 1), "a call is `Name` or `Name: {arguments}`");
            r.note(problem.help("put a dash before each call"));
            return None;
        }
    };
    let Some(kind) = CallKind::ALL.iter().copied().find(|k| k.name() == name) else {
        let drawn = Undrawn::ALL.iter().any(|d| d.name() == name);
        if drawn {
            let message = format!("{name} is not supported: this version draws nothing");
            r.note(Problem::at(at, message).unsupported());
            return None;
        }
        let names: Vec<&str> = CallKind::ALL.iter().map(|k| k.name()).collect();
        r.note(unknown(at, "call", name, &names));
        return None;
    };
    let params = kind.params();
    let mut call =
        Call { kind, at, args: vec![None; params.len()], places: vec![at; params.len()] };
    match value.map(|v| (v, &v.value)) {
        None | Some((_, Value::Null)) => {}
        Some((_, Value::Map(entries))) => named(r, &mut call, entries)?,
        Some((node, Value::Scalar(_))) => positional(r, &mut call, std::slice::from_ref(node))?,
        Some((_, Value::List(items))) => positional(r, &mut call, items)?,
    }
    for (param, arg) in params.iter().zip(&call.args) {
        if param.required && arg.is_none() {
            r.note(Problem::at(at, format!("{} needs `{}`", kind.name(), param.name)));
            return None;
        }
    }
    Some(call)
}

fn named(r: &Reader, call: &mut Call, entries: &[(Key, Node)]) -> Option<()> {
    let params = call.kind.params();
    let mut good = Some(());
    for (key, node) in entries {
        match params.iter().position(|p| p.name == key.name) {
            Some(i) => {
                call.args[i] = arg(r, params[i].kind, node);
                call.places[i] = node.at;
                good = good.and(call.args[i].as_ref().map(|_| ()));
            }
            None => {
                let names: Vec<&str> = params.iter().map(|p| p.name).collect();
                let what = format!("argument of {}:", call.kind.name());
                r.note(unknown(key.at, &what, &key.name, &names));
                good = None;
            }
        }
    }
    good
}

fn positional(r: &Reader, call: &mut Call, items: &[Node]) -> Option<()> {
    let params = call.kind.params();
    if let Some(extra) = items.get(params.len()) {
        let message = format!("{} takes {} arguments", call.kind.name(), params.len());
        r.note(Problem::at(extra.at, message));
        return None;
    }
    for (i, node) in items.iter().enumerate() {
        call.args[i] = Some(arg(r, params[i].kind, node)?);
        call.places[i] = node.at;
    }
    Some(())
}

fn arg(r: &Reader, kind: ParamKind, node: &Node) -> Option<Arg> {
    Some(match kind {
        ParamKind::Number => Arg::Number(r.expr(node)?),
        ParamKind::Numbers => Arg::Numbers(match &node.value {
            Value::List(_) => r.each(node, "a list of numbers", |n| r.expr(n))?,
            Value::Null | Value::Scalar(_) | Value::Map(_) => vec![r.expr(node)?],
        }),
        ParamKind::Flags | ParamKind::Text => Arg::Text(r.text(node)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node;

    fn read(text: &str) -> Result<Call, String> {
        let r = Reader::default();
        let call = call(&r, &node::parse(text).unwrap());
        call.ok_or_else(|| {
            let list = r.into_problems();
            let label = list[0].label.clone().unwrap_or_default();
            format!("{} {label}", list[0].message)
        })
    }

    #[test]
    fn the_same_call_in_every_spelling() {
        let named =
            read("Dispatch: {ThreadGroupCountX: 1, ThreadGroupCountY: 2, ThreadGroupCountZ: 3}");
        let listed = read("Dispatch: [1, 2, 3]");
        let numbers = |c: Call| {
            c.args
                .iter()
                .map(|a| match a {
                    Some(Arg::Number(e)) => e.eval(&|_| Err(String::new())).unwrap(),
                    other => panic!("{other:?}"),
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(numbers(named.unwrap()), numbers(listed.unwrap()));
        assert_eq!(read("EndEvent").unwrap().kind, CallKind::EndEvent);
    }

    #[test]
    fn mistakes_name_the_nearest() {
        assert_eq!(
            read("Dispach: [1,1,1]").unwrap_err(),
            "unknown call `Dispach` did you mean `Dispatch`?"
        );
        assert_eq!(
            read("DispatchX: {ThreadGroupCountX: 1, Flag: W32}").unwrap_err(),
            "unknown argument of DispatchX: `Flag` did you mean `Flags`?"
        );
        assert_eq!(read("Dispatch: [1, 1]").unwrap_err(), "Dispatch needs `ThreadGroupCountZ` ");
        assert_eq!(read("EndEvent: [1]").unwrap_err(), "EndEvent takes 0 arguments ");
        assert_eq!(
            read("DrawInstanced: [3, 1, 0, 0]").unwrap_err(),
            "DrawInstanced is not supported: this version draws nothing "
        );
    }

    #[test]
    fn required_parameters_come_first() {
        for kind in CallKind::ALL {
            let required: Vec<bool> = kind.params().iter().map(|p| p.required).collect();
            assert!(required.is_sorted_by(|a, b| a >= b), "{}", kind.name());
        }
    }
}
