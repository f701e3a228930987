// A process that takes the lock and holds it until it is killed. Arguments: BUNDLE LOCK.
const { takeOwnerLock } = await import(process.argv[2])
try {
  await takeOwnerLock({ lock: process.argv[3], what: 'the holder', onLost() {} })
  console.log('held')
  setInterval(() => {}, 1_000)
} catch (error) {
  console.log(`refused ${error.code} ${error.detail}`)
}
