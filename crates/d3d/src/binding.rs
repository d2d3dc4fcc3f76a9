//! Binding tables: what is bound to which HLSL register and space.

use crate::rules;
use crate::view::{View, describe_kind};
use std::collections::BTreeMap;
use wavefence_base::Rule;
use wavefence_shader::ir::{Kernel, Resource, ResourceClass, ResourceKind};
use wavefence_wave::descriptor::Descriptor;

/// Dwords of root constants that user data registers 2 to 15 hold.
pub const MAX_ROOT_CONSTANTS: usize = 14;

type Key = (ResourceClass, u32, u32);
/// Set, binding, array element, and true for samplers: a combined image and
/// sampler are two resources of one number.
type VulkanKey = (u32, u32, u32, bool);

/// What is bound, by register class, space and register. An array of resources
/// takes consecutive registers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bindings {
    views: BTreeMap<Key, View>,
    vulkan: BTreeMap<VulkanKey, View>,
    /// Root constants by register and space, in the order they were set.
    constants: Vec<((u32, u32), Vec<u32>)>,
}

impl Bindings {
    /// Nothing bound.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds to `t{register}, space{space}`.
    pub fn srv(&mut self, register: u32, space: u32, view: View) -> &mut Self {
        self.bind(ResourceClass::Srv, register, space, view)
    }

    /// Binds to `u{register}, space{space}`.
    pub fn uav(&mut self, register: u32, space: u32, view: View) -> &mut Self {
        self.bind(ResourceClass::Uav, register, space, view)
    }

    /// Binds to `b{register}, space{space}`.
    pub fn cbv(&mut self, register: u32, space: u32, view: View) -> &mut Self {
        self.constants.retain(|(key, _)| *key != (register, space));
        self.bind(ResourceClass::Cbv, register, space, view)
    }

    /// Binds to `s{register}, space{space}`.
    pub fn sampler(&mut self, register: u32, space: u32, view: View) -> &mut Self {
        self.bind(ResourceClass::Sampler, register, space, view)
    }

    /// Binds by class.
    pub fn bind(
        &mut self,
        class: ResourceClass,
        register: u32,
        space: u32,
        view: View,
    ) -> &mut Self {
        self.views.insert((class, space, register), view);
        self
    }

    /// Binds to element `element` of the resource that a shader's source declares
    /// with that Vulkan binding and set (`[[vk::binding(binding, set)]]`), unless
    /// something is bound to its register. A combined image and sampler take a view
    /// of each kind.
    pub fn vulkan(&mut self, binding: u32, set: u32, element: u32, view: View) -> &mut Self {
        let sampler = matches!(view, View::Sampler(_));
        self.vulkan.insert((set, binding, element, sampler), view);
        self
    }

    /// Root constants for the constant buffer at `b{register}, space{space}`. They
    /// travel in registers: no cache lies between a new value and the shader.
    pub fn root_constants(&mut self, register: u32, space: u32, words: &[u32]) -> &mut Self {
        self.views.remove(&(ResourceClass::Cbv, space, register));
        self.constants.retain(|(key, _)| *key != (register, space));
        self.constants.push(((register, space), words.to_vec()));
        self
    }

    /// Unbinds everything.
    pub fn clear(&mut self) {
        self.views.clear();
        self.vulkan.clear();
        self.constants.clear();
    }

    /// What is bound there.
    pub fn get(&self, class: ResourceClass, register: u32, space: u32) -> Option<&View> {
        self.views.get(&(class, space, register))
    }

    /// Puts everything of `other` over what is bound here.
    pub fn extend(&mut self, other: &Bindings) {
        for (&(class, space, register), view) in &other.views {
            if class == ResourceClass::Cbv {
                self.cbv(register, space, view.clone());
            } else {
                self.bind(class, register, space, view.clone());
            }
        }
        self.vulkan.extend(other.vulkan.iter().map(|(key, view)| (*key, view.clone())));
        for ((register, space), words) in &other.constants {
            self.root_constants(*register, *space, words);
        }
    }

    /// Puts the views of one class of `other` over what is bound here.
    pub fn extend_class(&mut self, wanted: ResourceClass, other: &Bindings) {
        for (&(class, space, register), view) in &other.views {
            if class == wanted {
                self.bind(class, register, space, view.clone());
                if class == ResourceClass::Cbv {
                    self.constants.retain(|(key, _)| *key != (register, space));
                }
            }
        }
        let vulkan = other.vulkan.iter().filter(|_| wanted == ResourceClass::Uav);
        self.vulkan.extend(vulkan.map(|(key, view)| (*key, view.clone())));
    }

    /// The root constants as the user data registers carry them.
    pub(crate) fn constant_words(&self) -> Vec<u32> {
        self.constants.iter().flat_map(|(_, words)| words).copied().collect()
    }

    /// The descriptors of a kernel, one per slot, or every rule that is broken.
    pub(crate) fn resolve(&self, kernel: &Kernel) -> Result<Vec<Descriptor>, Vec<BindingProblem>> {
        let mut slots = Vec::with_capacity(kernel.slots() as usize);
        let mut problems = Vec::new();
        if self.constant_words().len() > MAX_ROOT_CONSTANTS {
            problems.push(BindingProblem {
                rule: &rules::ROOT_CONSTANTS,
                register: "root constants".into(),
                value: self.constant_words().len().to_string(),
                message: format!(
                    "at most {MAX_ROOT_CONSTANTS} dwords fit; put the rest in a constant buffer"
                ),
            });
        }
        for resource in &kernel.resources {
            problems.extend(self.beyond(kernel, resource));
            for element in 0..resource.count {
                match self.slot(resource, element) {
                    Ok(descriptor) => slots.push(descriptor),
                    Err(problem) => problems.push(problem),
                }
            }
        }
        if problems.is_empty() { Ok(slots) } else { Err(problems) }
    }

    fn slot(&self, resource: &Resource, element: u32) -> Result<Descriptor, BindingProblem> {
        let register = resource.register + element;
        let letter = resource.class.letter();
        let problem = |rule, value: String, message: String| BindingProblem {
            rule,
            register: format!("{letter}{register}, space{} ({})", resource.space, resource.name),
            value,
            message,
        };
        if resource.class == ResourceClass::Cbv
            && let Some(descriptor) = self.root_constant_slot(register, resource.space)
        {
            return Ok(descriptor);
        }
        let by_register = self.get(resource.class, register, resource.space);
        let by_binding = || {
            let (binding, set) = resource.vk_binding?;
            let sampler = resource.class == ResourceClass::Sampler;
            self.vulkan.get(&(set, binding, element, sampler))
        };
        let Some(view) = by_register.or_else(by_binding) else {
            if resource.unbounded {
                return Ok(Descriptor::Null);
            }
            let what = describe_kind(&resource.kind);
            let message = format!(
                "nothing is bound, and the shader declares a {what} there; bind one, or a null view"
            );
            return Err(problem(&rules::BINDING_MISSING, String::new(), message));
        };
        if resource.kind == ResourceKind::Counter {
            return view.counter().ok_or_else(|| {
                let message = "the shader counts in it; create the UAV with a counter resource";
                problem(&rules::UAV_COUNTER, view.describe(), message.into())
            });
        }
        match view.mismatch(&resource.kind) {
            None => Ok(view.descriptor()),
            Some(why) => Err(problem(
                &rules::BINDING_TYPE,
                view.describe(),
                format!("does not fit: {why}; bind what the shader declares"),
            )),
        }
    }

    /// A binding that an unbounded array would reach if it were longer.
    fn beyond(&self, kernel: &Kernel, resource: &Resource) -> Option<BindingProblem> {
        if !resource.unbounded {
            return None;
        }
        let Resource { class, space, .. } = *resource;
        let end = resource.register.saturating_add(resource.count);
        let owned = |register: u32| {
            kernel.resources.iter().any(|other| {
                (other.class, other.space) == (class, space)
                    && (other.register..other.register.saturating_add(other.count))
                        .contains(&register)
            })
        };
        let from = (class, space, end);
        let found = self.views.range(from..=(class, space, u32::MAX)).next()?;
        let register = found.0.2;
        if owned(register) {
            return None;
        }
        Some(BindingProblem {
            rule: &rules::BINDING_MISSING,
            register: format!("{}{register}, space{space} ({})", class.letter(), resource.name),
            value: found.1.describe(),
            message: format!(
                "the unbounded array was compiled for {} elements and does not reach it",
                resource.count
            ),
        })
    }

    fn root_constant_slot(&self, register: u32, space: u32) -> Option<Descriptor> {
        let mut first = 0;
        for (key, words) in &self.constants {
            let count = words.len() as u32;
            if *key == (register, space) {
                return Some(Descriptor::UserData { first, count });
            }
            first += count;
        }
        None
    }
}

/// One register whose binding breaks a rule.
pub(crate) struct BindingProblem {
    pub(crate) rule: &'static Rule,
    /// `t0, space0 (Input)`.
    pub(crate) register: String,
    pub(crate) value: String,
    pub(crate) message: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavefence_base::{GpuAddress, GpuRange};
    use wavefence_shader::assemble::assemble;
    use wavefence_shader::lower::{BindingRule, LowerOptions, kernel};

    /// A kernel with an unbounded array of buffers at `u2` and a buffer at `u0`,
    /// both at Vulkan's set 1.
    fn unbounded() -> Kernel {
        let text = "OpCapability Shader\nOpMemoryModel Logical GLSL450\n\
            OpEntryPoint GLCompute %main \"main\" %a %b\nOpExecutionMode %main LocalSize 1 1 1\n\
            OpDecorate %words ArrayStride 4\nOpDecorate %block Block\n\
            OpMemberDecorate %block 0 Offset 0\n\
            OpName %a \"a\"\nOpDecorate %a Binding 2\nOpDecorate %a DescriptorSet 1\n\
            OpDecorate %b Binding 0\nOpDecorate %b DescriptorSet 1\n\
            %void = OpTypeVoid\n%fn = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n\
            %zero = OpConstant %uint 0\n%one = OpConstant %uint 1\n\
            %words = OpTypeRuntimeArray %uint\n%block = OpTypeStruct %words\n\
            %many = OpTypeRuntimeArray %block\n\
            %pmany = OpTypePointer StorageBuffer %many\n\
            %pblock = OpTypePointer StorageBuffer %block\n\
            %puint = OpTypePointer StorageBuffer %uint\n\
            %a = OpVariable %pmany StorageBuffer\n%b = OpVariable %pblock StorageBuffer\n\
            %main = OpFunction %void None %fn\n%entry = OpLabel\n\
            %from = OpAccessChain %puint %a %one %zero %zero\n%v = OpLoad %uint %from\n\
            %to = OpAccessChain %puint %b %zero %zero\nOpStore %to %v\n\
            OpReturn\nOpFunctionEnd\n";
        let options = LowerOptions {
            bindings: BindingRule::Plain,
            unbounded_count: 3,
            ..LowerOptions::default()
        };
        kernel(&assemble("a", text).unwrap(), &options).unwrap()
    }

    fn raw(at: u64) -> View {
        View::Raw(GpuRange::new(GpuAddress(at), 16))
    }

    #[test]
    fn elements_of_unbounded_arrays_may_be_left_out_but_not_be_out_of_reach() {
        let mut bindings = Bindings::new();
        bindings.uav(0, 1, raw(0x1000)).uav(3, 1, raw(0x2000));
        let slots = bindings.resolve(&unbounded()).map_err(|p| p.len()).unwrap();
        let filled: Vec<bool> = slots.iter().map(|s| *s != Descriptor::Null).collect();
        assert_eq!(filled, [true, false, true, false]);
        bindings.uav(5, 1, raw(0x3000));
        let problems = bindings.resolve(&unbounded()).unwrap_err();
        assert_eq!(problems[0].register, "u5, space1 (a)");
    }

    #[test]
    fn a_vulkan_binding_counts_where_the_register_is_free() {
        let mut bindings = Bindings::new();
        bindings.vulkan(0, 1, 0, raw(0x1000)).vulkan(2, 1, 1, raw(0x2000));
        let slots = bindings.resolve(&unbounded()).map_err(|p| p.len()).unwrap();
        assert_eq!(slots[0], raw(0x1000).descriptor());
        assert_eq!(slots[2], raw(0x2000).descriptor());
        bindings.uav(3, 1, raw(0x3000));
        let slots = bindings.resolve(&unbounded()).map_err(|p| p.len()).unwrap();
        assert_eq!(slots[2], raw(0x3000).descriptor());
    }
}
