/**
 * Limits of one run (K7). `Bytes` are UTF-8 bytes of JSON text, `Chars` UTF-16 units. Together they keep a run's record
 * and every message it sends below the 16 MiB of a payload.
 */
export const LIMITS = {
  /** Larger starts are refused with `payload_too_large`. */
  manifestBytes: 2 * 1024 * 1024,
  inputBytes: 5 * 1024 * 1024,
  intentChars: 256 * 1024,
  /**
   * The blackboard, including the outputs so far of a running parallel state. Above it the state fails with `blackboard_full`.
   */
  blackboardBytes: 6 * 1024 * 1024,
  /** Top-level keys of the blackboard. Above it the start is refused, or the state fails with `blackboard_full`. */
  blackboardKeys: 10_000,
  /** The copy of `spec.context` that `update_context` changes. */
  contextBytes: 1024 * 1024,
  /** One rendered template. */
  renderedChars: 1024 * 1024,
  /** Rendered prompt of a human, feedback of a transition. */
  spokenChars: 64 * 1024,
  /** Input of all effects of one state together. */
  effectInputBytes: 4 * 1024 * 1024,
  /** `output` of WorkflowStateExited; of a larger one the event has the size and the beginning. */
  eventOutputBytes: 16 * 1024,
  /** Texts of errors. */
  errorChars: 4 * 1024,
  /** States that end within one turn before the run sends itself Continue. */
  statesPerTurn: 50,
  /**
   * A command ends at its state's time-out and then reports its output within 2 s; only one that has not reported by then is
   * cancelled without output.
   */
  commandGraceMs: 3_000,
  /** The same for a container. */
  containerGraceMs: 5_000,
  /** How often a step whose outcome is in doubt is run again (E2). */
  inDoubtRepeats: 3,
  /** Depth of a child below the outermost workflow (W14). */
  childDepth: 10,
  /** Transitions of a run unless the node says otherwise (W19). */
  transitions: 1_000,
} as const;
