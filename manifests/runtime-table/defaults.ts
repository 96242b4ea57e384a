import type { Language, RuntimeEntry } from './settings.ts';

const entry = (name: string, description: string): RuntimeEntry => ({
  ...{ image: `docker.io/library/${name}`, description, deprecated: false, env: {} },
});
const python = (version: string) => entry(`python:${version}-slim`, `Python ${version} on slim Debian`);
const node = (version: string) => entry(`node:${version}-alpine`, `Node.js ${version} on Alpine`);
const rust = (version: string) => entry(`rust:${version}-alpine`, `Rust ${version} with Cargo on Alpine`);
const go = (version: string) => entry(`golang:${version}-alpine`, `Go ${version} on Alpine`);
const nodeTypes = (version: string) => entry(`node:${version}-alpine`, `TypeScript as Node.js ${version} runs it`);

/** Usual public images (original-facts 10, and newer ones); each has the POSIX shell that the node's bootstrap needs. */
export const DEFAULT_RUNTIMES: Readonly<Record<Language, Readonly<Record<string, RuntimeEntry>>>> = {
  python: {
    '3.9': { ...python('3.9'), deprecated: true },
    '3.10': python('3.10'),
    '3.11': python('3.11'),
    '3.12': python('3.12'),
    '3.13': python('3.13'),
  },
  javascript: { '18': node('18'), '20': node('20'), '22': node('22'), '24': node('24') },
  typescript: {
    '5.1': {
      ...entry('node:20-alpine', 'TypeScript 5.1 on Node.js 20, Alpine'),
      env: { SVC_TYPESCRIPT_VERSION: '5.1' },
    },
    '22': nodeTypes('22'),
    '24': nodeTypes('24'),
  },
  rust: { '1.74': rust('1.74'), '1.75': rust('1.75'), '1.85': rust('1.85'), '1.90': rust('1.90') },
  go: { '1.20': go('1.20'), '1.21': go('1.21'), '1.24': go('1.24'), '1.25': go('1.25') },
};
