/**
 * Bounds of one run (K7). `Bytes` are UTF-8 bytes of JSON text, `Chars` UTF-16 units. Together
 * they keep the record of a run and every message it sends under the 16 MiB of a payload.
 */
export const LIMITS = {
  /** Start is refused with `payload_too_large` beyond these. */
  manifestBytes: 2 * 1024 * 1024,
  inputBytes: 1024 * 1024,
  intentChars: 256 * 1024,
  /** Blackboard, and what a running parallel state has gathered so far beside it. More: the state fails, `blackboard_full`. */
  blackboardBytes: 6 * 1024 * 1024,
  /** Keys of the blackboard itself, not of what lies under them. More: refused at the start, `blackboard_full` later. */
  blackboardKeys: 10_000,
  /** The copy of `spec.context` that `update_context` changes. */
  contextBytes: 1024 * 1024,
  /** One rendered template. */
  renderedChars: 1024 * 1024,
  /** Rendered prompt of a human, feedback of a transition. */
  spokenChars: 64 * 1024,
  /** What one state asks for, all its effects together. */
  effectInputBytes: 4 * 1024 * 1024,
  /** `output` of WorkflowStateExited; more is told by size and beginning. */
  eventOutputBytes: 16 * 1024,
  /** Texts of errors. */
  errorChars: 4 * 1024,
  /** States that end inside a turn before the run sends itself Continue. */
  statesPerTurn: 50,
  /**
   * A command ends itself when its state's time is over and then tells what it wrote, at most 2 s later; only one that
   * is not heard of by then is let go without its output.
   */
  commandGraceMs: 3_000,
  /** How often a step whose outcome is in doubt is asked for again (E2). */
  inDoubtRepeats: 3,
  /** Depth of a child below the outermost workflow (W14). */
  childDepth: 10,
  /** Transitions of a run unless the node says otherwise (W19). */
  transitions: 1_000,
} as const;
