import { approvalWithoutTimeout } from './approval-without-timeout.ts';
import { blackboardKeyClash } from './blackboard-key-clash.ts';
import { childCycle, childDepth, unknownChildWorkflow } from './child-workflows.ts';
import { conditionDoesNotApply } from './condition-does-not-apply.ts';
import { conditionNeverTrue } from './condition-never-true.ts';
import { fieldWithoutEffect } from './field-without-effect.ts';
import { inputInShellCommand } from './input-in-shell-command.ts';
import { loopWithoutExit } from './loop-without-exit.ts';
import { memoryTooSmall } from './memory-too-small.ts';
import { mountPathTwice, unknownMountVolume } from './mounts.ts';
import { neverStarts } from './never-starts.ts';
import { noTerminalState } from './no-terminal-state.ts';
import { noWayToEnd } from './no-way-to-end.ts';
import { tooFewJudges } from './panel-size.ts';
import { reservedStateName } from './reserved-state-name.ts';
import { reservedWorkflowName } from './reserved-workflow-name.ts';
import type { Rule } from './rule.ts';
import { stateNeverPrecedes } from './state-never-precedes.ts';
import { expressionSyntax, templateSyntax } from './text-syntax.ts';
import { timeoutCutShort } from './timeout-cut-short.ts';
import { transitionNeverEvaluated } from './transition-never-evaluated.ts';
import { transitionNotGuaranteed } from './transition-not-guaranteed.ts';
import { unknownAgent } from './unknown-agent.ts';
import { unknownTemplateKey } from './unknown-template-key.ts';
import { unreachableState } from './unreachable-state.ts';

/** Everything the checker looks for in a manifest that the schema accepts. */
export const RULES: readonly Rule[] = [
  unreachableState,
  noTerminalState,
  loopWithoutExit,
  noWayToEnd,
  transitionNotGuaranteed,
  transitionNeverEvaluated,
  conditionDoesNotApply,
  conditionNeverTrue,
  unknownTemplateKey,
  stateNeverPrecedes,
  templateSyntax,
  expressionSyntax,
  inputInShellCommand,
  approvalWithoutTimeout,
  unknownAgent,
  unknownChildWorkflow,
  childCycle,
  childDepth,
  tooFewJudges,
  fieldWithoutEffect,
  timeoutCutShort,
  reservedStateName,
  reservedWorkflowName,
  blackboardKeyClash,
  unknownMountVolume,
  mountPathTwice,
  memoryTooSmall,
  neverStarts,
];
