import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { validateWorkflow } from '../../../catalog/manifest-work.ts';
import { ContainerInput } from '../../../effects/containers/input.ts';
import { Command } from '../../../usecases/ports/commands.ts';
import { STATES, workflowText } from './document.ts';

const PATHS = [
  '/',
  '//',
  '/proc',
  '/proc/',
  '//proc//1',
  '/sys',
  '/sys/fs',
  '/dev',
  '/dev/shm',
  '/device',
  '/a/proc',
  '/w',
];
const NAMES = [
  'A',
  '_a1',
  '1A',
  'A-B',
  'A.B',
  'A B',
  'A=B',
  'Ä',
  'LD_PRELOAD',
  'DYLD_X',
  'ENV',
  'ENVIRONMENT',
  'BASH_ENV',
];
const IMAGES = [
  'alpine',
  'alpine:3.20',
  'Alpine',
  'r.example:5000/a/b',
  'oci:/etc',
  'a b',
  'a@sha256:1',
  `a@sha256:${'0'.repeat(64)}`,
];

/** Whether the checker says that a state of it can never start. */
function isWarnedOf(state: object): boolean {
  const { findings, manifest } = validateWorkflow(workflowText({ s: state }));
  assert.notEqual(manifest, null, JSON.stringify(findings));
  return findings.some(({ rule }) => rule === 'never_starts');
}

const asked = { workflow_execution_id: 'w', state_name: 's', image: 'alpine', command: ['true'], timeout_ms: 1 };
const isTaken = (fields: object): boolean => ContainerInput.safeParse({ ...asked, ...fields }).success;

describe('the checker warns of exactly what the effects refuse', () => {
  for (const path of PATHS)
    it(`a volume of a container at ${path}`, () => {
      const warned = isWarnedOf({ ...STATES.ContainerRun, volumes: [{ name: 'workspace', mount_path: path }] });
      assert.equal(warned, !isTaken({ mounts: [{ volume_id: 'v', mount_path: path }] }));
    });

  for (const name of NAMES)
    it(`a variable named ${name}`, () => {
      const env = { [name]: 'x' };
      assert.equal(isWarnedOf({ ...STATES.ContainerRun, env }), !isTaken({ env }));
      const command = Command.safeParse({ command: 'make', env, timeout_ms: 1 });
      assert.equal(isWarnedOf({ ...STATES.System, env }), !command.success);
    });

  for (const image of IMAGES)
    it(`the image ${image.slice(0, 30)}`, () => {
      assert.equal(isWarnedOf({ ...STATES.ContainerRun, image }), !isTaken({ image }));
    });
});
