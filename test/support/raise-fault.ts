/** Loaded before a node (`--import`): at SIGUSR2 it raises an unhandled fault of the kind that SVC_TEST_FAULT names. */
const secret = 'hunter2-very-secret';
const fault = (): Error => new Error(`redis://user:${secret}@host was refused`, { cause: new TypeError(secret) });

process.on('SIGUSR2', () => {
  if (process.env.SVC_TEST_FAULT === 'exception') throw fault();
  void Promise.reject(fault());
});
