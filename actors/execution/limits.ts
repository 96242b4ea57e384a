/**
 * Limits of one execution (K7). Names that end in `Chars` count UTF-16 units, names that end in `Bytes` UTF-8 bytes.
 */
export const LIMITS = {
  /** Input and the caller's context together; a larger Start is refused with `payload_too_large`. */
  inputBytes: 1024 * 1024,
  /** Rendered prompt of a model. */
  modelPromptBytes: 2 * 1024 * 1024,
  /** Rendered prompt of a program: it is passed as one argument, which Linux limits to 128 KiB. */
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
  /** The environment variable SVC_ITERATION_HISTORY, and any other text that the node puts in the environment. */
  environmentTextBytes: 64 * 1024,
  /** Section of earlier attempts in a prompt. */
  historyChars: 48 * 1024,
  /** Longest text that a validator checks. */
  validatedChars: 1024 * 1024,
  /** The reason of one failed validator, with the judges' reasoning, as later prompts show it. */
  keptVerdictChars: 4 * 1024,
  /** The end of a validator script's output, in its reason. */
  keptScriptChars: 1_500,
  /** JSON input of one judge; a panel may have 20 of them. A longer output cannot be judged, so it fails. */
  judgeInputBytes: 384 * 1024,
  /** The task within a judge's input. */
  judgeTaskChars: 16 * 1024,
  /** Depth of a judge's execution; the root has 0 (W27). */
  judgeDepth: 3,
  /** Nesting of a JSON output that is checked against a schema. */
  jsonDepth: 100,
  /** Streamed text of one iteration; later chunks are not sent, and iteration_completed has the whole output. */
  streamedChars: 4 * 1024 * 1024,
  /**
   * How many times in a row, without progress of its loop, an iteration in doubt is run again. A program that kills its node
   * makes no progress; one whose node died for another reason may.
   */
  inDoubtRepeats: 9,
  /** The same in total. */
  inDoubtRepeatsInAll: 50,
  /** Whole-execution timeout when the manifest names none (W22). */
  executionTimeoutMs: 1_800_000,
} as const;
