// Another process that takes the lock and keeps it until it is killed. Started with: BUNDLE LOCK.
const { lockDirectory } = await import(process.argv[2])
try {
  await lockDirectory({ lock: process.argv[3], what: 'the holder', onLost() {} })
  console.log('held')
  setInterval(() => {}, 1_000)
} catch (error) {
  console.log(`refused ${error.code} ${error.detail}`)
}
