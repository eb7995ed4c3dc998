import paddle

x = paddle.to_tensor(3.0)
print(x.shape, x.item(), float(x), int(x), bool(x))
print(f"{x.item():.2f}")
print(paddle.zeros([0]).shape, paddle.zeros([0]).sum().item())
print(paddle.to_tensor([1.0]).shape, paddle.to_tensor([[1.0]]).item())
