//! Pointers, images and samplers that control flow picks.
//!
//! Such a handle is known here: which resource it names, and what it points at.
//! What may differ between the ways that lead to an `OpPhi`, or between the
//! operands of an `OpSelect`, are numbers: the element of an array of resources
//! and a byte offset. These travel in registers.

use super::value::{Element, Memory, Pointer, Root, Sum, Value};
use super::{Lower, R};
use crate::ShaderError;
use crate::ir::{BinOp, Reg};
use std::rc::Rc;

/// A handle taken apart.
pub(super) struct Parts {
    /// The handle without its numbers.
    pub template: Value,
    /// Its numbers, all of 32 bits.
    pub regs: Rc<[Reg]>,
}

impl Lower<'_, '_> {
    /// Takes a handle apart.
    pub fn handle_parts(&mut self, value: &Value) -> R<Parts> {
        let mut regs = Vec::new();
        let template = match value {
            Value::Image(image) => Value::Image(self.element_part(*image, &mut regs)),
            Value::Sampler(sampler) => Value::Sampler(self.element_part(*sampler, &mut regs)),
            Value::SampledImage(image, sampler) => {
                let image = self.element_part(*image, &mut regs);
                Value::SampledImage(image, self.element_part(*sampler, &mut regs))
            }
            Value::Pointer(p) => {
                let mut pointer = (**p).clone();
                self.pointer_parts(&mut pointer, &mut regs)?;
                Value::Pointer(Rc::new(pointer))
            }
            Value::Regs(_) | Value::Nothing => {
                return Err(ShaderError::invalid("a pointer must stand here"));
            }
        };
        Ok(Parts { template, regs: regs.into() })
    }

    fn element_part(&mut self, element: Element, out: &mut Vec<Reg>) -> Element {
        if self.resources[element.resource.index()].count > 1 {
            let first = self.b.word(0);
            out.push(element.index.unwrap_or(first));
        }
        Element { index: None, ..element }
    }

    fn pointer_parts(&mut self, p: &mut Pointer, out: &mut Vec<Reg>) -> R<()> {
        match &mut p.root {
            Root::Resource(element) => *element = self.element_part(*element, out),
            Root::Memory { memory, at, .. } => {
                if let Memory::Buffer(element) = memory {
                    *element = self.element_part(*element, out);
                }
                let sum = std::mem::take(at);
                out.push(self.sum_register(&sum));
            }
            Root::Local { .. } => {
                return Err(ShaderError::unsupported("a pointer to one of several variables"));
            }
            Root::Texel { .. } => {
                return Err(ShaderError::unsupported("a pointer to one of several texels"));
            }
        }
        Ok(())
    }

    fn sum_register(&mut self, sum: &Sum) -> Reg {
        let mut all = self.b.word(sum.offset);
        for &(reg, scale) in &sum.terms {
            let scale = self.b.word(scale);
            let part = self.b.bin(BinOp::IMul, reg, scale);
            all = self.b.bin(BinOp::IAdd, all, part);
        }
        all
    }

    /// Puts a handle together from a template and its numbers.
    pub fn whole(&self, template: &Value, regs: &[Reg]) -> Value {
        let mut regs = regs.iter().copied();
        let mut element = |element: &Element| {
            let array = self.resources[element.resource.index()].count > 1;
            let index = if array { regs.next() } else { None };
            Element { index, ..*element }
        };
        match template {
            Value::Image(image) => Value::Image(element(image)),
            Value::Sampler(sampler) => Value::Sampler(element(sampler)),
            Value::SampledImage(image, sampler) => {
                let image = element(image);
                Value::SampledImage(image, element(sampler))
            }
            Value::Pointer(p) => {
                let mut pointer = (**p).clone();
                match &mut pointer.root {
                    Root::Resource(e) => *e = element(e),
                    Root::Memory { memory, at, .. } => {
                        if let Memory::Buffer(e) = memory {
                            *e = element(e);
                        }
                        at.terms = regs.next().map(|offset| (offset, 1)).into_iter().collect();
                    }
                    Root::Local { .. } | Root::Texel { .. } => {}
                }
                Value::Pointer(Rc::new(pointer))
            }
            Value::Regs(_) | Value::Nothing => template.clone(),
        }
    }

    /// Refuses handles that differ in more than their numbers.
    pub fn same_handle(&self, a: Option<&Value>, b: Option<&Value>) -> R<()> {
        if a == b {
            return Ok(());
        }
        Err(ShaderError::unsupported(
            "a pointer, image or sampler that is one of several resources",
        ))
    }

    /// `OpSelect` between two handles.
    pub fn select_handle(&mut self, cond: Reg, yes: &Value, no: &Value) -> R<Value> {
        let (yes, no) = (self.handle_parts(yes)?, self.handle_parts(no)?);
        self.same_handle(Some(&yes.template), Some(&no.template))?;
        let both = yes.regs.iter().zip(no.regs.iter());
        let regs: Vec<Reg> = both.map(|(&a, &b)| self.b.select(cond, a, b)).collect();
        Ok(self.whole(&yes.template, &regs))
    }
}
