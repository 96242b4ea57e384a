/**
 * Version of the rules of a run, of an agent or of a workflow, that starts now. Its state stores the number, so a run keeps the
 * rules with which it started (docs/decisions/0046-rules-of-a-run.md). 1: `fail`, JSON values of the built-ins, members of JSON
 * texts in templates, failures of templates as events, the run's workspace in Agent states and containers. 2: the event of a
 * state's exit lists its transitions with their results. 3: judges that no further attempt can ask end the run, or the state,
 * under the code of their error. 4: the states of a workflow share a timer. 5: a container ends with the time of its state and
 * keeps its output; texts of a cancelled child and of a judge without an output.
 */
export const RUN_RULES = 5;

/** Whether the run works under these rules or later ones. */
export const hasRules = ({ rules = 0 }: { readonly rules?: number | undefined }, least: number): boolean =>
  rules >= least;
