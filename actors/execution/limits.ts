/**
 * Bounds of one execution (K7). Counted in UTF-16 units where the name ends in `Chars`, in
 * UTF-8 bytes where it ends in `Bytes`.
 */
export const LIMITS = {
  /** Input and the caller's context together; more is refused at Start with `payload_too_large`. */
  inputBytes: 1024 * 1024,
  /** Rendered prompt of a model. */
  modelPromptBytes: 2 * 1024 * 1024,
  /** Rendered prompt of a program: it travels as one argument, which Linux limits to 128 KiB. */
  programPromptBytes: 120 * 1024,
  /** Longest accepted output of an iteration; also `limits.output_bytes` of a program (1 MiB per stream). */
  outputBytes: 1024 * 1024,
  /** `last_output`, kept for status, the next prompt and the diff. */
  keptOutputChars: 32 * 1024,
  /** Output and message of one earlier attempt. */
  keptAttemptChars: 2 * 1024,
  /** `last_error`, `iteration_failed.error.message`. */
  keptErrorChars: 4 * 1024,
  /** `iteration_failed.error.stacktrace`: the end of a program's stderr. */
  stderrTailChars: 8 * 1024,
  /** `refinement_applied.code_diff`. */
  diffChars: 64 * 1024,
  /** The environment variable SVC_ITERATION_HISTORY, and any other text the node puts there. */
  environmentTextBytes: 64 * 1024,
  /** Section of earlier attempts in a prompt. */
  historyChars: 48 * 1024,
  /** Longest text a validator looks at. */
  validatedChars: 1024 * 1024,
  /** Why one validator failed, as later prompts show it: the judges' reasoning among it. */
  keptVerdictChars: 4 * 1024,
  /** What one judge is given as JSON; a panel may have 20 of them. A longer output is not judged, and fails. */
  judgeInputBytes: 384 * 1024,
  /** The task, among what a judge is given. */
  judgeTaskChars: 16 * 1024,
  /** Depth of a judge's execution; the root has 0 (W27). */
  judgeDepth: 3,
  /** Nesting of a JSON output that a schema is applied to. */
  jsonDepth: 100,
  /** Streamed text of one iteration; chunks beyond it are not sent (iteration_completed.output is the truth). */
  streamedChars: 4 * 1024 * 1024,
  /**
   * How often in a row, without progress of its loop, one iteration whose outcome is in doubt is asked for again. A
   * program that is what ends its node gets no further; one whose node keeps dying while the program starts may.
   */
  inDoubtRepeats: 9,
  /** And how often at all. */
  inDoubtRepeatsInAll: 50,
  /** Whole-execution timeout when the manifest names none (W22). */
  executionTimeoutMs: 1_800_000,
} as const;
