import { RUN_MARK } from '../programs/environment.ts';

/**
 * Names no command of a tool sees, whatever is given to it: cloud vendors, CI, model providers, names that say secret
 * (original-facts 6.4). `*` at an end stands for anything.
 */
export const DENIED_NAMES: readonly string[] = [
  ...['AWS_*', 'AZURE_*', 'ARM_*', 'GOOGLE_*', 'GCP_*', 'GCLOUD_*', 'CLOUDSDK_*', 'DIGITALOCEAN_*', 'ALICLOUD_*'],
  ...['GITHUB_*', 'GH_*', 'GITLAB_*', 'CI_*', 'BITBUCKET_*', 'CIRCLE_*', 'JENKINS_*', 'BUILDKITE_*', 'ACTIONS_*'],
  ...['OPENAI_*', 'ANTHROPIC_*', 'GEMINI_*', 'COHERE_*', 'MISTRAL_*', 'GROQ_*', 'HF_*', 'HUGGINGFACE_*'],
  ...['NPM_*', 'DOCKER_*', 'KUBE*', 'VAULT_*', 'BAO_*', 'SSH_*', 'GPG_*', 'REDIS_*', 'MONGODB_*', 'DATABASE_*'],
  ...['SECRET*', '*_SECRET', '*_SECRETS', 'TOKEN*', '*_TOKEN', '*_PASSWORD', '*_PASSPHRASE', '*_KEY', '*_CREDENTIALS'],
  ...['LD_*', 'DYLD_*', 'BASH_ENV', 'ENV', 'NODE_OPTIONS', 'PYTHONSTARTUP'],
];

/** What is left of an environment without denied names; the run's mark stays, since it is how leftovers are found. */
export function scrubbed(
  environment: Readonly<Record<string, string>>,
  denylist: readonly string[],
): Readonly<Record<string, string>> {
  const patterns = [...DENIED_NAMES, ...denylist];
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => name === RUN_MARK || !patterns.some((one) => matches(one, name))),
  );
}

function matches(pattern: string, given: string): boolean {
  const [wanted, name] = [pattern.toUpperCase(), given.toUpperCase()];
  if (wanted === '*') return true;
  if (wanted.startsWith('*')) return name.endsWith(wanted.slice(1));
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted;
}
