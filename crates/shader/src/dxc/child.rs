//! The child's side: reads requests, calls DXC, answers.
//!
//! DXC runs on a thread with a large stack, since its parser recurses with the
//! source's nesting. The main thread only reads requests, so that the end of
//! stdin (the parent is gone) ends the process even while a compile runs on.

use super::include::Includes;
use super::protocol::{HELLO, Op, Request, Response, Status, read_frame, write_frame};
use hassle_rs::{Dxc, DxcCompiler, DxcLibrary, DxcOperationResult, HassleError};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc;

const STACK_BYTES: usize = 256 << 20;

/// Runs the child until `input` ends; the return value is the exit code. Call
/// it with stdin and stdout and nothing else that writes to stdout.
pub fn child_main(input: &mut dyn Read, output: impl Write + Send + 'static) -> i32 {
    let (send, jobs) = mpsc::channel::<Vec<u8>>();
    let worker =
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || serve(&jobs, output));
    if worker.is_err() {
        return 1;
    }
    loop {
        match read_frame(input) {
            Ok(Some(frame)) => {
                if send.send(frame).is_err() {
                    return 1;
                }
            }
            Ok(None) => return 0,
            Err(_) => return 1,
        }
    }
}

fn serve(jobs: &mpsc::Receiver<Vec<u8>>, mut output: impl Write) {
    if write_frame(&mut output, HELLO).is_err() {
        return;
    }
    let mut loaded = None;
    for frame in jobs {
        let answer = match Request::decode(&frame) {
            Ok(request) => answer(&request, &mut loaded),
            Err(_) => Response::failure(Status::Failed, "a request it cannot read".into()),
        };
        if write_frame(&mut output, &answer.encode()).is_err() {
            return;
        }
    }
}

fn answer(request: &Request, loaded: &mut Option<Library>) -> Response {
    // `hassle-rs` unwraps where DXC misbehaves.
    catch_unwind(AssertUnwindSafe(|| {
        if loaded.as_ref().is_none_or(|l| l.path != request.library) {
            *loaded = None;
            match Library::load(&request.library) {
                Ok(library) => *loaded = Some(library),
                Err(e) => return Response::failure(Status::NoLibrary, describe(&e)),
            }
        }
        match loaded {
            Some(library) => library.run(request).unwrap_or_else(|e| {
                Response::failure(Status::Failed, format!("DXC: {}", describe(&e)))
            }),
            None => Response::failure(Status::NoLibrary, String::new()),
        }
    }))
    .unwrap_or_else(|_| {
        *loaded = None;
        Response::failure(Status::Failed, "DXC gave an answer that makes no sense".into())
    })
}

fn describe(error: &HassleError) -> String {
    match error {
        HassleError::LoadLibraryError { inner, .. } => inner.to_string(),
        HassleError::LibLoadingError(inner) => inner.to_string(),
        HassleError::Win32Error(_)
        | HassleError::CompileError(_)
        | HassleError::ValidationError(_) => error.to_string(),
    }
}

struct Library {
    path: String,
    compiler: DxcCompiler,
    library: DxcLibrary,
    // Last: the two above point into it.
    _dxc: Dxc,
}

impl Library {
    fn load(path: &str) -> Result<Self, HassleError> {
        let dxc = Dxc::new(Some(PathBuf::from(path)))?;
        Ok(Self {
            path: path.to_owned(),
            compiler: dxc.create_compiler()?,
            library: dxc.create_library()?,
            _dxc: dxc,
        })
    }

    fn run(&self, request: &Request) -> Result<Response, HassleError> {
        let mut includes = Includes::new(&request.dir, &request.roots);
        let args: Vec<&str> = request.args.iter().map(String::as_str).collect();
        let blob = self.library.create_blob_with_encoding_from_str(&request.text)?;
        let result = match request.op {
            Op::Preprocess => {
                self.compiler.preprocess(&blob, &request.name, &args, Some(&mut includes), &[])
            }
            Op::Compile => self.compiler.compile(
                &blob,
                &request.name,
                &request.entry,
                &request.target,
                &args,
                Some(&mut includes),
                &[],
            ),
        };
        let (status, output, messages) = match result {
            Ok(done) => (Status::Done, done.get_result()?.to_vec::<u8>(), self.messages(&done)?),
            Err((failed, _)) => (Status::Rejected, Vec::new(), self.messages(&failed)?),
        };
        let Includes { included, refused, .. } = includes;
        Ok(Response { status, output, messages, included, refused })
    }

    fn messages(&self, result: &DxcOperationResult) -> Result<String, HassleError> {
        let text = self.library.get_blob_as_string(&result.get_error_buffer()?.into())?;
        Ok(text.trim_end_matches(['\0', ' ', '\n']).to_owned())
    }
}
