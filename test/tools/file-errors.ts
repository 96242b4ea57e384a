type Arguments = Readonly<Record<string, string>>;

/** Tool, arguments, class and code; `err/file` is a file that holds `text`, `err/none` is not there. */
export const FILE_ERRORS: readonly (readonly [tool: string, given: Arguments, expected: string])[] = [
  ['fs.read', { path: 'err/none' }, 'recoverable NOT_FOUND'],
  ['fs.list', { path: 'err/none' }, 'recoverable NOT_FOUND'],
  ['fs.delete', { path: 'err/none' }, 'recoverable NOT_FOUND'],
  ['fs.edit', { path: 'err/none', target_content: 'a', replacement_content: '' }, 'recoverable NOT_FOUND'],
  ['fs.grep', { path: 'err/none', pattern: 'a' }, 'recoverable NOT_FOUND'],
  ['fs.glob', { path: 'err/none', pattern: '*' }, 'recoverable NOT_FOUND'],
  ['fs.read', { path: 'err' }, 'recoverable NotAFile'],
  ['fs.read', { path: '/workspace' }, 'recoverable NotAFile'],
  ['fs.read', { path: '.' }, 'recoverable NotAFile'],
  ['fs.write', { path: '/workspace/', content: '' }, 'recoverable NotAFile'],
  ['fs.edit', { path: '/workspace', target_content: 'a', replacement_content: '' }, 'recoverable NotAFile'],
  ['fs.delete', { path: '/workspace' }, 'recoverable PERMISSION_DENIED'],
  ['fs.list', { path: 'err/file' }, 'recoverable NotADirectory'],
  ['fs.glob', { path: 'err/file', pattern: '*' }, 'recoverable NotADirectory'],
  ['fs.write', { path: 'err', content: '' }, 'recoverable NotAFile'],
  ['fs.write', { path: 'err/file/below', content: '' }, 'recoverable NotADirectory'],
  ['fs.write', { path: '.svc-uploads/x', content: '' }, 'recoverable InvalidArguments'],
  ['fs.read', { path: '../x' }, 'policy PathTraversalAttempt'],
  ['fs.read', { path: '/workspace/a/../b' }, 'policy PathTraversalAttempt'],
  ['fs.read', { path: '/etc/passwd' }, 'policy PathOutsideBoundary'],
  ['fs.read', { path: '/workspaces/x' }, 'policy PathOutsideBoundary'],
  ['fs.write', { path: '/tmp/x', content: '' }, 'policy PathOutsideBoundary'],
  ['fs.grep', { path: '/etc', pattern: 'root' }, 'policy PathOutsideBoundary'],
];
