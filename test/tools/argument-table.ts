export interface ArgumentRules {
  readonly right: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
  readonly wrong: Readonly<Record<string, readonly unknown[]>>;
}

/** Arguments that are right, and for each argument values that are not. `*` is required (W29). */
export const ARGUMENTS: Readonly<Record<string, ArgumentRules>> = {
  'fs.read': {
    right: { path: 'a' },
    required: ['path'],
    wrong: { path: [1, '', 'a\0b', [], {}, true, 'x'.repeat(4_097)] },
  },
  'fs.write': {
    right: { path: 'a', content: '' },
    required: ['path', 'content'],
    wrong: { path: [0, ''], content: [1, {}, false] },
  },
  'fs.list': { right: { path: '/workspace' }, required: [], wrong: { path: [1, '', 'a\0'] } },
  'fs.create_dir': { right: { path: 'a' }, required: ['path'], wrong: { path: [1, ''] } },
  'fs.delete': { right: { path: 'a' }, required: ['path'], wrong: { path: [1, ''], recursive: ['true', 1] } },
  'fs.edit': {
    right: { path: 'a', target_content: 'x', replacement_content: '' },
    required: ['path', 'target_content', 'replacement_content'],
    wrong: { path: [1], target_content: ['', 1], replacement_content: [1] },
  },
  'fs.multi_edit': {
    right: { path: 'a', edits: [{ target_content: 'x', replacement_content: '' }] },
    required: ['path', 'edits'],
    wrong: {
      edits: [
        [],
        'x',
        [{}],
        [{ target_content: 'x' }],
        [{ target_content: 'x', replacement_content: null }],
        [{ target_content: '', replacement_content: '' }],

        Array.from({ length: 1_001 }, () => ({ target_content: 'x', replacement_content: 'y' })),
      ],
    },
  },
  'fs.grep': {
    right: { pattern: 'x', path: '/' },
    required: ['pattern', 'path'],
    wrong: { pattern: ['', 1], path: [1, ''] },
  },
  'fs.glob': {
    right: { pattern: '*', path: '/' },
    required: ['pattern', 'path'],
    wrong: { pattern: ['', 1, '\0'], path: [1] },
  },
  'web.search': {
    right: { query: 'x' },
    required: ['query'],
    wrong: { query: ['', 1], max_results: [0, 21, 1.5, '10'] },
  },
  'web.fetch': {
    right: { url: 'https://example.org/' },
    required: ['url'],
    wrong: {
      url: [
        ...['', 'example.org', 'ftp://example.org', 'file:///etc/passwd', 'javascript:1', ' https://a', 'http://', 1],
        ...['http://a@example.org/', 'http://a:b@example.org/', 'http://:b@example.org/'],
        ...[
          'http://exam\tple.org/',
          'http://example.org/a b',
          'http://example.org\\@evil.org/',
          'http://example.org/\x7f',
        ],
      ],
      to_markdown: ['true'],
      follow_redirects: [0],
      timeout_secs: [0, -1, 1.5, '30', 301],
    },
  },
  'cmd.run': {
    right: { command: 'ls' },
    required: ['command'],
    wrong: {
      command: ['', ' ', 1, ['ls'], 'a\0b'],
      args: ['-l', [1], ['a\0b'], Array.from({ length: 257 }, () => 'x')],
    },
  },
  'svc.tools.list': { right: {}, required: [], wrong: {} },
  'svc.tools.search': { right: { query: 'x' }, required: [], wrong: { query: [1, {}] } },
};
