-- A claim of 1 VCPU, 256 MiB and 1 GiB by a consumer that was never there, on the host whose number HOST is, else on any.
local hosts = tonumber(os.getenv("HOSTS"))
local host = tonumber(os.getenv("HOST"))
math.randomseed(os.time())
for _ = 1, 10 do math.random() end

local function uuid()
  return string.format("%04x%04x-%04x-4%03x-8%03x-%04x%04x%04x", math.random(0, 65535), math.random(0, 65535),
                       math.random(0, 65535), math.random(0, 4095), math.random(0, 4095), math.random(0, 65535),
                       math.random(0, 65535), math.random(0, 65535))
end

request = function()
  local number = host or math.random(0, hosts - 1)
  local body = string.format(
    '{"allocations":{"00000000-0000-4000-8000-%012d":{"resources":{"VCPU":1,"MEMORY_MB":256,"DISK_GB":1}}},' ..
    '"project_id":"bench","user_id":"bench","consumer_generation":null,"consumer_type":"INSTANCE"}', number)
  return wrk.format("PUT", "/allocations/" .. uuid(), nil, body)
end
