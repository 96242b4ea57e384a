import { pathText, type YamlText } from '../../schema-problems.ts';
import type { Finding } from '../finding.ts';
import type { WorkflowManifest } from '../schema.ts';
import {
  expressionSyntax,
  fieldWithoutEffect,
  inputInShellCommand,
  mountPathOutside,
  mountPathTwice,
  reservedVolumeName,
  templateSyntax,
  unknownMountVolume,
} from './field-rules.ts';
import { type Known, subjectOf } from './flow.ts';
import {
  approvalWithoutTimeout,
  memoryTooSmall,
  sizeIsMeasured,
  timeoutCutShort,
  tooFewJudges,
  volumeTooLarge,
} from './limit-rules.ts';
import {
  blackboardKeyClash,
  childCycle,
  childDepth,
  reservedStateName,
  reservedWorkflowName,
  unknownAgent,
  unknownChildWorkflow,
} from './name-rules.ts';
import {
  loopWithoutExit,
  neverStarts,
  noTerminalState,
  noWayToEnd,
  stateNeverPrecedes,
  unreachableState,
} from './reachability-rules.ts';
import type { Rule } from './rule.ts';
import {
  conditionDoesNotApply,
  conditionNeverTrue,
  transitionNeverEvaluated,
  transitionNotGuaranteed,
} from './transition-rules.ts';
import { unknownTemplateKey } from './unknown-template-key.ts';

export type { Known } from './flow.ts';

/** Limit of findings per rule, so that a hostile document cannot produce a large answer. */
const MAX_FINDINGS_PER_RULE = 50;

/**
 * Findings about a manifest that the schema accepts, in the order of their lines. `locate` finds the line of a path in the
 * YAML. Time is nearly linear in the size of the manifest; never throws.
 */
export function checkWorkflow(manifest: WorkflowManifest, locate: YamlText['locate'], known: Known = {}): Finding[] {
  const subject = subjectOf(manifest, known);
  const findings: Finding[] = [];
  for (const rule of RULES) {
    let left = MAX_FINDINGS_PER_RULE;
    for (const { path, message, cure = rule.cure } of rule.check(subject)) {
      findings.push({
        rule: rule.id,
        severity: rule.severity ?? 'warning',
        path: pathText(path),
        ...locate(path),
        message,
        cure,
      });
      left -= 1;
      if (left === 0) break;
    }
  }
  return findings.sort((a, b) => a.line - b.line || a.column - b.column);
}

/** All rules of the checker. */
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
  mountPathOutside,
  reservedVolumeName,
  volumeTooLarge,
  sizeIsMeasured,
  memoryTooSmall,
  neverStarts,
];
